/* int8 function by table. The whole table is in registers; sixteen numbers are looked up together. */
#include "edgekit/contracts/table_s8.h"

#include <arm_neon.h>

EK_KERNEL void EK_FN(const int8_t *x, const int8_t *table, int8_t *y, const struct EK_STRUCT *p)
{
    const int8x16x4_t t = vld1q_s8_x4(table), u = vld1q_s8_x4(table + 64);
    const int8x16x4_t v = vld1q_s8_x4(table + 128), w = vld1q_s8_x4(table + 192);
    const uint8x16_t step = vdupq_n_u8(64), half = vdupq_n_u8(128);
    int32_t i = 0;
    for (; i + 16 <= p->n; i += 16) {
        uint8x16_t at = veorq_u8(vreinterpretq_u8_s8(vld1q_s8(x + i)), half);
        int8x16_t found = vqtbl4q_s8(t, at); /* 0 outside of the 64 that it knows, where the next ones look */
        found = vqtbx4q_s8(found, u, at = vsubq_u8(at, step));
        found = vqtbx4q_s8(found, v, at = vsubq_u8(at, step));
        vst1q_s8(y + i, vqtbx4q_s8(found, w, vsubq_u8(at, step)));
    }
    for (; i < p->n; i++)
        y[i] = table[x[i] + 128];
}
