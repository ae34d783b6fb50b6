/* int8 matrix product with transposed b: see matmul_nt_s8.h.
 * like neon/matmul_nt_s8.c
 * rule e e_wide tfl */
