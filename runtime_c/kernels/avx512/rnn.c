/* Plain recurrent layer, sums of gates sixteen at a time: see rnn.h and gate_sums_avx512.h.
 * for T=f32
 * like ref/rnn.c
 * pack r: O/64!16 I o64 */
