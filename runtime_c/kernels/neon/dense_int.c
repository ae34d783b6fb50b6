/* Fully connected layer of int8: see dense_int.h. Four outputs of up to four rows advance together, by SMULL and SADALP.
 * like dotprod/dense_int.c dot=madd
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once
 * pack w: O/8!4 I/16! o8 i16
 * order rows 4 4 */
