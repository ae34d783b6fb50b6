/* As affine_s8.rows.c, for factors of 32 bits.
 * like neon/affine_s8.rows.c s16=s32
 * when sa[5] == 1
 * when sb[5] in (0, 1) */
