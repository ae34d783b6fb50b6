/* Reals to int8, halves away from zero, with Helium.
 * for Y=s8
 * like mve/quantize_s8.c even=away */
