/* As conv2d_int.c, for rule T with negative exponents, which are almost all.
 * like neon32/conv2d_int.c
 * for X=s8 W=s8 Y=s8 S=s32
 * rule tfl=tfl_down
 * when groups == 1 and least_weight > -128 and most_exponent < 0
 * pack w: O/4! HWI/16! o4 hwi16
 * pack b: O/4! o4
 * pack m: O/4! o4
 * pack e: O/4! o4
 * scratch 2 * ((k_h * k_w * in_c + 15) // 16 * 16)
 * order pixels 4 2 */
