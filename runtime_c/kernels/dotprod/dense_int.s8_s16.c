/* As dense_int.c, results of 16 bits: sixteen outputs of up to four rows advance together, by SDOT.
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e e_wide
 * like dotprod/dense_int.c */
