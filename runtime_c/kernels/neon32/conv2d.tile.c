/* Convolution of floats: see conv2d.h. Windows that lie inside of the image are read where they are;
 * others are gathered first. Subnormal numbers count as 0, as this unit has it.
 * also conv2d_add
 * apart
 * like neon/conv2d.tile.c
 * for T=f32 W=f32 B=f32
 * when (groups == 1 or out_c % (4 * groups) == 0)
 * pack w: G O/16!4 HWI o16
 * pack b: O/4! o4
 * scratch 16 if k_h * k_w == 1 and stride_h * stride_w == 1 and out_h == in_h and out_w == in_w and step_c == 1
 * scratch else 16 * k_h * k_w * in_c
 * order pixels 4 4 */
