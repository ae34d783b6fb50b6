/* int8 sum or mean of dimensions with Helium: compilers find the vectors.
 * like ref/total_s8.c */
