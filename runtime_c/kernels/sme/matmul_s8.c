/* int8 matrix product. Up to sixteen rows and four vectors of columns advance together, by SMOPA.
 * @rule e e_wide tfl @when a_inner == 1 and b_column == 1 and rows >= 4
 * @when n[0] * n[1] * n[2] * n[3] * n[4] * n[5] * rows * inner * columns >= 262144
 * @scratch (columns + 15) // 16 * (64 * ((inner + 3) // 4) + 144) + 64 * ((inner + 3) // 4) + 64 */
/* int8 matrix product with transposed b. Up to sixteen rows and four vectors of columns advance together, by SMOPA.
 * @as sme/matmul_nt_s8 sme_pack_s8=sme_pack_transposed @without when a_inner == 1, when b_column == 1 */
#include "edgekit/contracts/matmul_s8.h"
#include "edgekit/loops/matrices.h"

struct EK_FN_call {
    struct EK_STRUCT p;
    const int8_t *a, *b;
    int8_t *y;
    uint8_t *scratch;
    struct ek_sme_layer_s8 layer;
};

/* One matrix. The parameters are those of a call. */
EK_INLINED void EK_FN_matrix(
    const int8_t *a, const int8_t *b, int8_t *y, const struct EK_STRUCT *p) EK_STREAMING
{
    const struct EK_FN_call *call = (const struct EK_FN_call *)(const void *)p;
    ek_sme_pack_s8(call->scratch, b, p->b_row, p->columns, p->inner);
    ek_sme_multiply_s8(
        &call->layer, call->scratch, a, p->a_row, y, p->rows, p->inner, p->a_zero, p->b_zero, EK_RULE(kind));
}

EK_SHARED static void EK_FN_streaming(const struct EK_FN_call *call) EK_STREAMING
{
    EK_EACH_MATRIX(EK_FN_matrix, call->a, call->b, call->y, &call->p);
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT a, const int8_t *EK_RESTRICT b, int8_t *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    struct EK_FN_call call = {
        *p, a, b, y, scratch, ek_sme_product_s8(scratch, p->inner, p->columns, p->multiplier, p->exponent)};
    call.layer.zero = p->zero;
    call.layer.lo = p->lo;
    call.layer.hi = p->hi;
    EK_RUN_STREAMING(EK_FN_streaming, &call);
}
