/* Long short-term memory on int8, four numbers at a time: see lstm_int.h and gates_wasm.h.
 * like ref/lstm_int.c one=wasm state=wasm
 * pack r: G O/8! I/2! o8 i2
 * pack b: G O/8! o8
 * pack m: G O/8! o8
 * scratch 10 * size + 4 */
