/* As conv2d_int.c, for rule T with negative exponents, which are almost all.
 * like neon32/conv2d_int.c
 * for X=s8 W=s8 Y=s8 S=s32
 * rule tfl=tfl_down
 * when groups == 1 and least_weight > -128 and most_exponent < 0
 * order pixels 4 2 */
