/* Convolution at every second pixel with weights of 16 bits: as avx2/conv2d.strided.c. Their sums are stored in 32 bits,
 * as they would not be exact: for small layers only.
 * for T=f32 W=bf16 B=f32
 * like avx2/conv2d.strided.c
 * when k_h == 3 and k_w == 3 and stride_h == 2 and stride_w == 2 and dilation_h == 1 and dilation_w == 1
 * when groups == 1 and step_c == 1 and out_h >= 2 and out_w >= 2 and out_h * out_w >= 32
 * when in_c >= 32 and out_c >= 8 and in_c * out_c <= 4096 and not small */
