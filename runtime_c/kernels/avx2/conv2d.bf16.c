/* Convolution of floats with weights of 16 bits: as avx2/conv2d.c.
 * also conv2d_add
 * apart
 * for T=f32 W=bf16 B=f32
 * like avx2/conv2d.c f32=bf16
 * pack w: G O/16!8 H W I o16(zip8) */
