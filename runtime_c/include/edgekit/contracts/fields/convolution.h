/* A convolution of a dense image. */
int32_t batch;
int32_t in_h;
int32_t in_w;
int32_t in_c;
int32_t out_h;
int32_t out_w;
int32_t out_c;
#include "edgekit/contracts/fields/window.h"
