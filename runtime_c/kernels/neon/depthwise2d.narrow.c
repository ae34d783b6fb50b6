/* As depthwise2d.lanes.c, for weights of 16 bits, which are widened once.
 * like neon/depthwise2d.lanes.c f32_once=bf16_once
 * for T=f32 W=bf16 B=f32
 * when in_c == out_c and k_h * k_w * out_c >= 4
 * scratch 4 * k_h * k_w * out_c + 12
 * order pixels 1 */
