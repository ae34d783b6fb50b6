/* Plain recurrent layer on int8, four numbers at a time: see rnn_int.h and gates_wasm.h.
 * like ref/rnn_int.c one=wasm state=wasm
 * pack r: O/8! I/2! o8 i2
 * pack b: O/8! o8
 * pack m: O/8! o8
 * scratch 4 * size + 4 */
