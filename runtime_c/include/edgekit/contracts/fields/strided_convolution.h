/* A convolution of an image with strides, in groups. */
int32_t batch;
int32_t in_h;
int32_t in_w;
int32_t in_c;
int32_t step_h; /* elements of x from one row to the next */
int32_t step_w; /* ... one column to the next */
int32_t step_c; /* ... one channel to the next: 1 unless x is channels-first */
int32_t out_h;
int32_t out_w;
int32_t out_c;
#include "edgekit/contracts/fields/window.h"
int32_t groups;
