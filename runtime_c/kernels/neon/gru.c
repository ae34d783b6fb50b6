/* Gated recurrent units, sums of gates by NEON: see gru.h and gate_sums_neon.h.
 * for T=f32
 * like ref/gru.c
 * pack r: G O/16!4 I o16 */
