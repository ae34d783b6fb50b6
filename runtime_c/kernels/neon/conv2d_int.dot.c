/* Convolution of int8: see conv2d_int.h. Four pixels of a row and four outputs advance together, by SMULL and SADALP.
 * like dotprod/conv2d_int.dot.c dot=madd
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once
 * when (groups == 1 or out_c % (4 * groups) == 0)
 * pack w: G O/8!4 HWI/16! o8 hwi16
 * order pixels 4 4 */
