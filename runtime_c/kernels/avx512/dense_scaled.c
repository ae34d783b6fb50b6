/* Fully connected layer of floats with weights of bytes: as avx2/dense.c, where scales are in place of what is added.
 * for T=f32 W=s8 B=f32
 * like avx2/dense.c f32=s8
 * pack w: O/64!16 I o64 */
