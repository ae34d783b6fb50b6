/* As depthwise2d_int.three.c, for rule T with negative exponents, which are almost all.
 * like dotprod/depthwise2d_int.three.c
 * for X=s8 W=s8 Y=s8 S=s32
 * rule tfl=tfl_down
 * when k_h == 3 and k_w == 3 and dilation_w == 1 and in_c == out_c and most_exponent < 0
 * order lines 16 */
