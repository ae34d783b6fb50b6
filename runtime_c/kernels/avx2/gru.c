/* Gated recurrent units, sums of gates eight at a time: see gru.h and gate_sums_avx2.h.
 * for T=f32
 * like ref/gru.c
 * pack r: G O/16!8 I o16 */
