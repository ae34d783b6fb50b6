/* Two operands that are broadcast to one shape. */
int32_t n[EK_RANK]; /* shape, padded with 1 in front */
int32_t sa[EK_RANK]; /* strides of a, in elements: 0 repeats it */
int32_t sb[EK_RANK]; /* strides of b */
int32_t a0; /* first element of a */
int32_t b0; /* first element of b */
int32_t y0; /* first element of y */
