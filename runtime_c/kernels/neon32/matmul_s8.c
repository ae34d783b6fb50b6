/* int8 matrix product: see matmul_s8.h.
 * like neon/matmul_s8.c
 * rule e e_wide tfl
 * when a_inner == 1 and b_column == 1 */
