/* Long short-term memory on int8 with DSP instructions: see gates_dsp.h.
 * like ref/lstm_int.c state=state_dsp */
