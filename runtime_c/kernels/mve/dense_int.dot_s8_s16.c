/* Fully connected layer of int8 with Helium, results of 16 bits.
 * for X=s8 W=s8 Y=s16 S=s32
 * rule e e_wide=e_up
 * when most_exponent <= 0 or least_exponent + up > 31
 * when most_exponent <= 0 or sum_bits + up <= 31
 * order rows 4 2
 * like mve/dense_int.dot.c */
