/* Products of matrices. */
int32_t n[EK_RANK]; /* matrices, padded with 1 in front */
int32_t a_n[EK_RANK]; /* strides from matrix to matrix, in elements; 0 repeats one */
int32_t b_n[EK_RANK];
int32_t y_n[EK_RANK];
int32_t a0; /* first element of a */
int32_t b0;
int32_t y0;
int32_t rows; /* i */
int32_t inner; /* k */
int32_t columns; /* j */
int32_t a_row; /* elements of a from one i to the next */
