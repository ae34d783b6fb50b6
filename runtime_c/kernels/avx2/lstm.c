/* Long short-term memory, sums of gates eight at a time: see lstm.h and gate_sums_avx2.h.
 * for T=f32
 * like ref/lstm.c
 * pack r: G O/16!8 I o16 */
