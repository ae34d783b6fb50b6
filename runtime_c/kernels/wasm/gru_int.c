/* Gated recurrent units on int8, four numbers at a time: see gru_int.h and gates_wasm.h.
 * like ref/gru_int.c one=wasm state=wasm
 * pack r: G O/8! I/2! o8 i2
 * pack b: G O/8! o8
 * pack m: G O/8! o8
 * scratch 10 * size + 4 */
