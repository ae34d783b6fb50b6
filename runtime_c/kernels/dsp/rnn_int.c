/* Plain recurrent layer on int8 with DSP instructions: see gates_dsp.h.
 * like ref/rnn_int.c state=state_dsp */
