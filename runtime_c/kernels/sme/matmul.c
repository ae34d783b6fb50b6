/* Matrix product of floats. Up to sixteen rows and four vectors of columns advance together, by FMOPA.
 * @for T=f32 @when a_inner == 1 and b_column == 1 and rows >= 4
 * @when n[0] * n[1] * n[2] * n[3] * n[4] * n[5] * rows * inner * columns >= 262144
 * @scratch 64 * inner * ((columns + 15) // 16 + 1) */
/* Matrix product of floats with transposed b. Up to sixteen rows and four vectors of columns advance together, by FMOPA.
 * @as sme/matmul_nt sme_pack_f32=sme_pack_transposed_f32 @without when a_inner == 1, when b_column == 1 */
#include "edgekit/contracts/matmul.h"
#include "edgekit/loops/matrices.h"

struct EK_FN_call {
    struct EK_STRUCT p;
    const float *a, *b;
    float *y;
    uint8_t *scratch;
};

/* One matrix. The parameters are those of a call. */
EK_INLINED void EK_FN_matrix(const float *a, const float *b, float *y, const struct EK_STRUCT *p) EK_STREAMING
{
    const struct EK_FN_call *call = (const struct EK_FN_call *)(const void *)p;
    ek_sme_pack_f32(call->scratch, b, p->b_row, p->columns, p->inner);
    ek_sme_multiply_f32(call->scratch, a, p->a_row, y, p->rows, p->inner, p->columns);
}

EK_SHARED static void EK_FN_streaming(const struct EK_FN_call *call) EK_STREAMING
{
    EK_EACH_MATRIX(EK_FN_matrix, call->a, call->b, call->y, &call->p);
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT a, const EK_T *EK_RESTRICT b, EK_T *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const struct EK_FN_call call = {*p, a, b, y, scratch};
    EK_RUN_STREAMING(EK_FN_streaming, &call);
}
