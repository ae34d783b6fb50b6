/* As dense_int.c, results of 16 bits: sixteen outputs of up to four rows advance together, by SDOT.
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e e_wide
 * pack w: O/16!4 I/4! o16 i4
 * pack b: O/16! o16
 * pack m: O/16! o16
 * pack e: O/16! o16
 * like dotprod/dense_int.c */
