/* Reals to int16, halves to the even integer, with Helium.
 * for Y=s16
 * like mve/quantize_s8.c */
