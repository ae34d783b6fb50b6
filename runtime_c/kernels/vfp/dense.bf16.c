/* Fully connected layer of floats with weights of 16 bits: as dense.c.
 * for T=f32 W=bf16 B=f32
 * like vfp/dense.c f32=bf16 */
