/* Convolution to at most half a vector of outputs with weights of 16 bits: as avx2/conv2d.narrow.c.
 * for T=f32 W=bf16 B=f32
 * like avx2/conv2d.narrow.c f32=bf16
 * when groups == 1 and step_c == 1 and step_w == in_c and dilation_w == 1 and k_w * in_c > 1
 * when out_c <= 4 */
