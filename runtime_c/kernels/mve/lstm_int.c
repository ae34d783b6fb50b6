/* Long short-term memory on int8 with Helium, four numbers at a time: see lstm_int.h and gates_mve.h.
 * like ref/lstm_int.c one=mve state=mve
 * pack r: G O/4! I/16! o4 i16
 * pack b: G O/4! o4
 * pack m: G O/4! o4
 * scratch 8 * size + (size + 15) // 16 * 16 * (size % 16 > 0) */
