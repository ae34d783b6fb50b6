/* Convolution of int8: see conv2d_int.h. Four pixels of a row and sixteen outputs advance together, by SMMLA.
 * like dotprod/conv2d_int.dot.c dot=mmla
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once
 * when (groups == 1 or out_c % (4 * groups) == 0)
 * pack w: G O/16!4 HWI/8! o16 hwi8
 * order pixels 4 4 */
