/* The window of a convolution or pool: size, stride, dilation and padding. */
int32_t k_h;
int32_t k_w;
int32_t stride_h;
int32_t stride_w;
int32_t pad_top;
int32_t pad_left;
int32_t dilation_h;
int32_t dilation_w;
