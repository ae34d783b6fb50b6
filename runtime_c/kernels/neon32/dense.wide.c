/* As dense.c, for weights of 16 bits, which are widened where they are loaded.
 * like neon/dense.c f32_fma=bf16_fma
 * for T=f32 W=bf16 B=f32
 * order rows 4 4 */
