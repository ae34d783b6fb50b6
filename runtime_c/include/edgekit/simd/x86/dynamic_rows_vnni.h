/* Rows that were quantized in this run, times weights of 8 or 4 bits, by VNNI of either width, whose left factors are
 * unsigned: those are the weights, 128 or 8 more. Two vectors of outputs are a block. EK_WIDE is the vocabulary of a set.
 *
 * Weights of 8 bits lie in fours of an output; those of 4 bits in eights, the first four in the lower halves of bytes. */
#ifndef EDGEKIT_DYNAMIC_ROWS_VNNI_H
#define EDGEKIT_DYNAMIC_ROWS_VNNI_H

#include "edgekit/loops/dynamic_rows.h"
#include "edgekit/loops/weight_kinds.h"

/* What weights have more, here. */
#define EK_DR_OFFSET(kind) ((kind) == EK_S4_KIND ? 8 : 128)
#define EK_DR_VECTORS(kind) 2

typedef EK_WIDE(ints) ek_dr_ints;

EK_INLINE ek_dr_ints ek_dr_same(const int32_t x)
{
    return EK_WIDE(same)(x);
}

/* a + the bits of b, which are integers. */
EK_INLINE ek_dr_ints ek_dr_more(const ek_dr_ints a, const ek_vf b)
{
    return EK_WIDE(add)(a, (ek_dr_ints)b);
}

/* Eight weights of each output: of the first four inputs, and of the others. */
EK_INLINED void ek_dr_weights(ek_dr_ints *to, const void *w, const int32_t kind)
{
    const uint8_t *const from = (const uint8_t *)w;
    const int32_t bytes = (int32_t)sizeof *to;
    if (kind == EK_S4_KIND) {
        const ek_dr_ints low = EK_WIDE(same)(0x0F0F0F0F);
        EK_UNROLLED_FOR(2, int32_t v = 0; v < 2; v++) {
            const ek_dr_ints both = EK_WIDE(load)(from + v * bytes);
            to[v] = both & low;
            to[2 + v] = EK_WIDE(halves)(both) & low;
        }
    } else {
        const ek_dr_ints sign = EK_WIDE(same)((int32_t)0x80808080u);
        EK_UNROLLED_FOR(4, int32_t v = 0; v < 4; v++)
            to[v] = EK_WIDE(load)(from + v * bytes) ^ sign;
    }
}

/* Four inputs of each row, `step` apart. */
EK_INLINED void ek_dr_four(
    ek_dr_ints *sum, const ek_dr_ints *w, const int8_t *x, const int32_t step, const int32_t rows)
{
    EK_UNROLLED_FOR(8, int32_t r = 0; r < rows; r++) {
        const ek_dr_ints t = EK_WIDE(spread)((const uint8_t *)x + r * step);
        sum[2 * r] = EK_WIDE(dot)(sum[2 * r], w[0], t);
        sum[2 * r + 1] = EK_WIDE(dot)(sum[2 * r + 1], w[1], t);
    }
}

/* Adds the products of `count` inputs, whole eights, of some rows and a block of outputs. A single row has two sums of each
 * output, so that one product need not wait for the other. */
EK_INLINED void ek_dr_products(ek_dr_ints *sum, const int8_t *x, const int32_t step, const void *w,
    const int32_t count, const int32_t rows, const int32_t kind)
{
    const uint8_t *from = (const uint8_t *)w;
    const int32_t bytes = (int32_t)sizeof *sum * (kind == EK_S4_KIND ? 2 : 4);
    ek_dr_ints others[2] = {EK_WIDE(same)(0), EK_WIDE(same)(0)};
    for (int32_t i = 0; i < count; i += 8, from += bytes) {
        ek_dr_ints v[4];
        ek_dr_weights(v, from, kind);
        ek_dr_four(sum, v, x + i, step, rows);
        ek_dr_four(rows == 1 ? others : sum, v + 2, x + i + 4, step, rows);
    }
    if (rows == 1) {
        sum[0] = EK_WIDE(add)(sum[0], others[0]);
        sum[1] = EK_WIDE(add)(sum[1], others[1]);
    }
}

#endif
