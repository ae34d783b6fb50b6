/* Convolution of integers, and a sum: see conv2d_add_int.h.
 * like ref/conv2d_int.c
 * pack w: G O/16 H W I o16
 * order pixels 16 */
