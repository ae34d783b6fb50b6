/* As conv2d.tile.c, for weights of 16 bits, which are widened where they are loaded.
 * also conv2d_add
 * apart
 * like neon/conv2d.tile.c f32_fma=bf16_fma f32_once=bf16_each
 * for T=f32 W=bf16 B=f32
 * when (groups == 1 or out_c % (4 * groups) == 0)
 * order pixels 4 4 */
