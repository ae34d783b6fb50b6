/* Gated recurrent units on int8 with Helium, four numbers at a time: see gru_int.h and gates_mve.h.
 * like ref/gru_int.c one=mve state=mve
 * pack r: G O/4! I/16! o4 i16
 * pack b: G O/4! o4
 * pack m: G O/4! o4
 * scratch (8 - 2 * reset_after * (size % 16 == 0)) * size + (size + 15) // 16 * 16 * (size % 16 > 0) */
