/* Fully connected layer with AVX-512: as avx2/dense.c, with longer vectors.
 * for T=f32 W=f32 B=f32
 * like avx2/dense.c
 * pack w: O/64!16 I o64 */
