/* As conv2d.tile.c, for weights of 16 bits, which are widened once, where that pays: for many pixels.
 * also conv2d_add
 * apart
 * like neon/conv2d.tile.c f32_once=bf16_once
 * for T=f32 W=bf16 B=f32
 * when (groups == 1 or out_c % (4 * groups) == 0)
 * when batch * out_h * out_w > 12 and out_c * k_h * k_w * in_c <= 65536 * groups
 * scratch (out_c + 3) // 4 * 16 * k_h * k_w * in_c // groups
 * scratch + (16 if k_h * k_w == 1 and stride_h * stride_w == 1 and out_h == in_h and out_w == in_w and step_c == 1
 * scratch else 16 * k_h * k_w * in_c)
 * order pixels 4 4 */
