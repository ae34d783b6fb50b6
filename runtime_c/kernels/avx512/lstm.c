/* Long short-term memory, sums of gates sixteen at a time: see lstm.h and gate_sums_avx512.h.
 * for T=f32
 * like ref/lstm.c
 * pack r: G O/64!16 I o64 */
