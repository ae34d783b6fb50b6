/* As conv2d_int.dot.c, for rule T with negative exponents, which are almost all.
 * like dotprod/conv2d_int.dot.c
 * for X=s8 W=s8 Y=s8 S=s32
 * rule tfl=tfl_down
 * when (groups == 1 or out_c % (4 * groups) == 0) and most_exponent < 0
 * pack w: G O/16!4 HWI/4! o16 hwi4
 * pack b: O/16! o16
 * pack m: O/16! o16
 * pack e: O/16! o16
 * scratch 16 if k_h * k_w == 1 and stride_h * stride_w == 1 and out_h == in_h and out_w == in_w and step_c == 1
 * scratch else 4 * ((k_h * k_w * in_c + 15) // 16 * 16)
 * order pixels 4 4 */
