/* int8 sum or difference of rows, sixteen at a time: see add_s8.h.
 * like avx2/add_s8.c x8=x16
 * when sa[5] == 1 and sb[5] == 1 and a_exponent <= 0 and b_exponent <= 0 and exponent <= 0 */
