/* As dense_int.rows.c, results of 16 bits: sixteen outputs of up to four rows advance together, by SMMLA.
 * like dotprod/dense_int.c dot=mmla
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e e_wide
 * when rows > 1
 * pack w: O/16!4 I/8! o16 i8 */
