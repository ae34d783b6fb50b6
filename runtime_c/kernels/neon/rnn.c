/* Plain recurrent layer, sums of gates by NEON: see rnn.h and gate_sums_neon.h.
 * for T=f32
 * like ref/rnn.c
 * pack r: O/16!4 I o16 */
