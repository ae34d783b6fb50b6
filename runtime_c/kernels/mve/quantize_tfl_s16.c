/* Reals to int16, halves away from zero, with Helium.
 * for Y=s16
 * like mve/quantize_s8.c even=away */
