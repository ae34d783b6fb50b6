/* Depthwise convolution of one channel with AVX-512: as avx2/depthwise2d.spread.c, with longer vectors.
 * for T=f32 W=f32 B=f32
 * like avx2/depthwise2d.spread.c
 * when in_c == 1 and out_c > 1
 * pack w: O/64!16 H W I o64 */
