/* Convolution with AVX-512: as avx2/conv2d.c, with longer vectors.
 * also conv2d_add
 * apart
 * for T=f32 W=f32 B=f32
 * like avx2/conv2d.c
 * pack w: G O/64!16 H W I o64 */
