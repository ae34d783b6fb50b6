/* Depthwise convolution of floats with weights of 16 bits: as avx2/depthwise2d.c.
 * for T=f32 W=bf16 B=f32
 * like avx2/depthwise2d.c f32=bf16
 * when in_c == out_c
 * pack w: O/16! H WI/2! o16 wi2 */
