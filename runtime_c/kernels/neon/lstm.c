/* Long short-term memory, sums of gates by NEON: see lstm.h and gate_sums_neon.h.
 * for T=f32
 * like ref/lstm.c
 * pack r: G O/16!4 I o16 */
