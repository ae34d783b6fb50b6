/* As depthwise2d.three.c, for weights of 16 bits, which are widened once.
 * like neon/depthwise2d.three.c f32_once=bf16_once
 * for T=f32 W=bf16 B=f32
 * when k_h == 3 and k_w == 3 and dilation_h == 1 and dilation_w == 1 and stride_w <= 2
 * when in_c == out_c and out_c >= 4
 * scratch 36 * out_c + 12 + 4 * in_w * in_c
 * order lines 4 2 */
