/* int8 sum or difference of rows, sixteen at a time: see affine_s8.h.
 * like avx2/affine_s8.c x8=x16
 * when sa[5] == 1 and sb[5] == 1 */
