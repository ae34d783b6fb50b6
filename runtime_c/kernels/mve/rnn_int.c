/* Plain recurrent layer on int8 with Helium, four numbers at a time: see rnn_int.h and gates_mve.h.
 * like ref/rnn_int.c one=mve state=mve
 * pack r: O/4! I/16! o4 i16
 * pack b: O/4! o4
 * pack m: O/4! o4
 * scratch 2 * size + (size + 15) // 16 * 16 * (size % 16 > 0) */
