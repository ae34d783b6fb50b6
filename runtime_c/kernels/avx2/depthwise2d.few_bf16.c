/* Depthwise convolution of few channels with weights of 16 bits: as avx2/depthwise2d.few.c.
 * for T=f32 W=bf16 B=f32
 * like avx2/depthwise2d.few.c f32=bf16
 * when in_c == out_c and stride_w == 1
 * when in_c <= 4 and 8 % in_c == 0 */
