/* Fully connected layer of floats with weights of 16 bits: as avx2/dense.c.
 * for T=f32 W=f16 B=f32
 * like avx2/dense.c f32=f16 */
