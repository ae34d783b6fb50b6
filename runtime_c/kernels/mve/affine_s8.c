/* int8 sum or difference by rule E with Helium: compilers find the vectors.
 * like ref/affine_s8.c */
