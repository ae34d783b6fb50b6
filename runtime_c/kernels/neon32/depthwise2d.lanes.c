/* Depthwise convolution of floats: see depthwise2d.h. Sixteen channels of a pixel advance together, then four.
 * Subnormal numbers count as 0, as this unit has it.
 * like neon/depthwise2d.lanes.c
 * for T=f32 W=f32 B=f32
 * when in_c == out_c
 * pack w: H W O I */
