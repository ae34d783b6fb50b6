/* Gated recurrent units, sums of gates sixteen at a time: see gru.h and gate_sums_avx512.h.
 * for T=f32
 * like ref/gru.c
 * pack r: G O/64!16 I o64 */
