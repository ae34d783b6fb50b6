/* Gated recurrent units on int8 with DSP instructions: see gates_dsp.h.
 * like ref/gru_int.c state=state_dsp */
