/* As depthwise2d.lanes.c, for weights of 16 bits, which are widened where they are loaded.
 * like neon/depthwise2d.lanes.c f32_weights=bf16_weights
 * for T=f32 W=bf16 B=f32
 * when in_c == out_c
 * pack w: H W O I
 * order pixels 1 */
