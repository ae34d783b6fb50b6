/* Plain recurrent layer, sums of gates eight at a time: see rnn.h and gate_sums_avx2.h.
 * for T=f32
 * like ref/rnn.c
 * pack r: O/16!8 I o16 */
