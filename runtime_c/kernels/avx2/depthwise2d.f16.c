/* Depthwise convolution of floats with weights of 16 bits: as avx2/depthwise2d.c.
 * for T=f32 W=f16 B=f32
 * like avx2/depthwise2d.c f32=f16
 * when in_c == out_c */
