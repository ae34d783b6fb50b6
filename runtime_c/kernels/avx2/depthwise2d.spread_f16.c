/* Depthwise convolution of one channel of floats with weights of 16 bits: as avx2/depthwise2d.spread.c.
 * for T=f32 W=f16 B=f32
 * like avx2/depthwise2d.spread.c f32=f16
 * when in_c == 1 and out_c > 1 */
