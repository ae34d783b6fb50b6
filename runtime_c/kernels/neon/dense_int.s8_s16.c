/* As dense_int.c, results of 16 bits: four outputs of up to four rows advance together, by SMULL and SADALP.
 * like dotprod/dense_int.c dot=madd
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e e_wide
 * pack w: O/8!4 I/16! o8 i16 */
