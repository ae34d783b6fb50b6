/* Fully connected layer of int8: see dense_int.h. Sixteen outputs of up to four rows advance together, by SMMLA.
 * like dotprod/dense_int.c dot=mmla
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once
 * when rows > 1
 * pack w: O/16!4 I/8! o16 i8
 * order rows 4 4 */
