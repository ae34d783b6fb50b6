/* Fully connected layer of int8 with one scale for all outputs: as dense_int.c, of which it has one multiplier.
 * like relaxed/dense_int.c four=two each=one
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once
 * when one_scale
 * pack w: O/8! I/2! o8 i2
 * pack m: same! 4
 * pack e: same! 4
 * scratch 2 * (rows * inputs) + 16 */
