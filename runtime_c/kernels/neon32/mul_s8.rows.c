/* int8 product: see mul_s8.h.
 * like neon/mul_s8.rows.c
 * rule e e_wide tfl
 * when sa[5] == 1
 * when sb[5] in (0, 1) */
