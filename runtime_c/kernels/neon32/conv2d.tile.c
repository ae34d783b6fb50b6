/* Convolution of floats: see conv2d.h. Windows that lie inside of the image are read where they are;
 * others are gathered first. Subnormal numbers count as 0, as this unit has it.
 * also conv2d_add
 * apart
 * like neon/conv2d.tile.c
 * for T=f32 W=f32 B=f32
 * when (groups == 1 or out_c % (4 * groups) == 0)
 * order pixels 4 4 */
