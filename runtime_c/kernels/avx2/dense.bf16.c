/* Fully connected layer of floats with weights of 16 bits: as avx2/dense.c.
 * for T=f32 W=bf16 B=f32
 * like avx2/dense.c f32=bf16
 * pack w: O/16!8 I o16(zip8) */
