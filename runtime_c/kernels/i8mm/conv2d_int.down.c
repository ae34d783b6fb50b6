/* As conv2d_int.dot.c, for rule T with negative exponents, which are almost all.
 * like dotprod/conv2d_int.dot.c dot=mmla
 * for X=s8 W=s8 Y=s8 S=s32
 * rule tfl=tfl_down
 * when (groups == 1 or out_c % (4 * groups) == 0) and most_exponent < 0
 * pack w: G O/16!4 HWI/8! o16 hwi8
 * order pixels 4 4 */
