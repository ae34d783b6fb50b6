/* Reals to int16, halves to the even integer.
 * for Y=s16
 * like dsp/quantize_s8.c byte=half */
