/* Fully connected layer of int8: see dense_int.h. As the one for relaxed vectors, with cells of 16 bits.
 * like relaxed/dense_int.c four=two
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once
 * pack w: O/8! I/2! o8 i2
 * scratch 2 * (rows * inputs) + 16
 * order rows 8 */
