/* Panels of rows for outer products (SME): of up to sixteen rows, four bytes of each side by side, then the next four: so many
 * bytes are four numbers of int8 or a float. A step of a panel takes 64 bytes, and so does one of sixteen outputs in packed
 * weights, whatever the length of registers. */
#ifndef EDGEKIT_PANELS_SME_H
#define EDGEKIT_PANELS_SME_H

#include "edgekit/simd/sme/streaming_sme.h"

#define EK_SME_STEP 64

/* Rows of a panel, and outputs of a vector: as many as a register has elements of four bytes, up to sixteen. */
EK_INLINED int32_t ek_sme_lanes(void) EK_STREAMING
{
    const int32_t lanes = (int32_t)svcntw();
    return lanes < 16 ? lanes : 16;
}

/* Where steps of the vector of outputs from `o` on begin: blocks of sixteen outputs have `steps` steps. */
EK_INLINED const uint8_t *ek_sme_outputs(const void *w, const int32_t steps, const int32_t o) EK_STREAMING
{
    return (const uint8_t *)w + (int64_t)(o / 16) * EK_SME_STEP * steps + 4 * (o % 16);
}

/* The first columns of the first tile, a step each. */
EK_INLINED uint8_t *ek_sme_columns(uint8_t *to, const uint32_t steps, const svbool_t all) EK_STREAMING
{
    uint32_t c = 0;
    for (; c + 4 <= steps; c += 4, to += 4 * EK_SME_STEP) {
        svst1_ver_za32(0, c, all, to);
        svst1_ver_za32(0, c + 1, all, to + EK_SME_STEP);
        svst1_ver_za32(0, c + 2, all, to + 2 * EK_SME_STEP);
        svst1_ver_za32(0, c + 3, all, to + 3 * EK_SME_STEP);
    }
    for (; c < steps; c++, to += EK_SME_STEP)
        svst1_ver_za32(0, c, all, to);
    return to;
}

/* One step for each four bytes, zeros behind them. Rows are so many bytes apart. They are loaded as rows of the first tile,
 * and stored as its columns. */
static EK_SHARED uint8_t *ek_sme_pack(
    uint8_t *to, const void *from, const int64_t apart, const int32_t rows, const int32_t bytes) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes();
    const svbool_t all = svwhilelt_b32(0, lanes);
    for (int32_t k = 0; k < bytes; k += 4 * lanes) {
        const int32_t left = bytes - k, n = left < 4 * lanes ? left : 4 * lanes;
        const svbool_t some = svwhilelt_b8(0, n);
        const uint8_t *x = (const uint8_t *)from + k;
        uint32_t r = 0;
        for (; r + 4 <= (uint32_t)rows; r += 4, x += 4 * apart) {
            svld1_hor_za8(0, 4 * r, some, x);
            svld1_hor_za8(0, 4 * r + 4, some, x + apart);
            svld1_hor_za8(0, 4 * r + 8, some, x + 2 * apart);
            svld1_hor_za8(0, 4 * r + 12, some, x + 3 * apart);
        }
        for (; r < (uint32_t)rows; r++, x += apart)
            svld1_hor_za8(0, 4 * r, some, x);
        to = ek_sme_columns(to, (uint32_t)(n + 3) / 4, all);
    }
    return to;
}

/* The same of rows anywhere. */
static EK_SHARED uint8_t *ek_sme_pack_each(
    uint8_t *to, const uint8_t *const *from, const int32_t rows, const int32_t bytes) EK_STREAMING
{
    const int32_t lanes = ek_sme_lanes();
    const svbool_t all = svwhilelt_b32(0, lanes);
    for (int32_t k = 0; k < bytes; k += 4 * lanes) {
        const int32_t left = bytes - k, n = left < 4 * lanes ? left : 4 * lanes;
        const svbool_t some = svwhilelt_b8(0, n);
        for (uint32_t r = 0; r < (uint32_t)rows; r++)
            svld1_hor_za8(0, 4 * r, some, from[r] + k);
        to = ek_sme_columns(to, (uint32_t)(n + 3) / 4, all);
    }
    return to;
}

#endif
