/* int8 softmax: see softmax_s8.h.
 * like neon/softmax_s8.c */
