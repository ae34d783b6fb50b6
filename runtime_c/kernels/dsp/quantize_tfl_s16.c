/* Reals to int16, halves away from zero.
 * for Y=s16
 * like dsp/quantize_tfl_s8.c byte=half */
