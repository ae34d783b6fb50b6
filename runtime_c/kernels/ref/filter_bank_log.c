/* Natural logarithms of channels. */
#include "edgekit/contracts/filter_bank_log.h"

/* log2(x) in units of 2^-16, for x above 0: linear between powers of two, but for the table. */
EK_INLINE uint32_t EK_FN_log2(const uint32_t x, const uint16_t *EK_RESTRICT table)
{
    uint32_t whole = 0;
    while (x >> whole > 1)
        whole++;
    const uint32_t rest = x - (1u << whole);
    const uint32_t fraction = whole < 16 ? rest << (16 - whole) : rest >> (whole - 16);
    const uint16_t *const entry = table + (fraction >> 9);
    const int32_t step = (entry[1] - entry[0]) * (int32_t)(fraction & 511u);
    return (whole << 16) + fraction + entry[0] + (uint32_t)(step >> 16);
}

EK_KERNEL void EK_FN(const uint32_t *EK_RESTRICT x, const uint16_t *EK_RESTRICT table, int16_t *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    for (int32_t i = 0; i < p->n; i++) {
        const uint32_t scaled = x[i] << p->bits;
        y[i] = 0;
        if (scaled > 1) {
            const uint64_t log2 = EK_FN_log2(scaled, table);
            const uint32_t natural =
                (uint32_t)((45426u * log2 + (1u << 15)) >> 16); /* ln 2 in units of 2^-16 */
            const uint32_t found = ((uint32_t)p->scale * natural + (1u << 15)) >> 16;
            y[i] = (int16_t)(found < 32767 ? found : 32767);
        }
    }
}
