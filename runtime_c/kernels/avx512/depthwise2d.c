/* Depthwise convolution with AVX-512: as avx2/depthwise2d.c, with longer vectors.
 * for T=f32 W=f32 B=f32
 * like avx2/depthwise2d.c
 * when in_c == out_c
 * pack w: O/16! H W I o16 */
