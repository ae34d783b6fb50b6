/* As depthwise2d.fours.c, for weights of 16 bits, which are widened once.
 * like neon32/depthwise2d.fours.c f32_once=bf16_once
 * for T=f32 W=bf16 B=f32
 * when in_c == out_c and out_c >= 4
 * scratch 4 * k_h * k_w * out_c + 12
 * order pixels 4 */
