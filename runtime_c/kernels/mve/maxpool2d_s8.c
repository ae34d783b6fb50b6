/* Largest int8 of windows with Helium: compilers find the vectors.
 * for T=s8
 * like ref/pool2d.c */
