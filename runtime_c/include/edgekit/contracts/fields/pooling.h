/* Pooling of a dense image. */
int32_t batch;
int32_t in_h;
int32_t in_w;
int32_t channels;
int32_t out_h;
int32_t out_w;
#include "edgekit/contracts/fields/window.h"
