/* Integers to reals with Helium: compilers find the vectors.
 * like ref/dequantize.c */
