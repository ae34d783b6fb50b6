/* int8 sum or difference: see affine_s8.h. This is for factors of 16 bits.
 * like neon/affine_s8.rows.c
 * when -32768 <= first and first <= 32767
 * when -32768 <= second and second <= 32767
 * when sa[5] == 1
 * when sb[5] in (0, 1) */
