/* Softmax of integers as attention_s8.h has it, in loops of sixteen keys that compilers make vectors of. */
#ifndef EDGEKIT_ATTENTION_VECTORS_S8_H
#define EDGEKIT_ATTENTION_VECTORS_S8_H

#include "edgekit/loops/attention_s8.h"

/* From `m` dot products to their weights; keys up to a multiple of sixteen are as the first one, and weigh nothing. */
EK_INLINE void ek_attention_vectors(struct ek_attention_s8 *EK_RESTRICT a, const float *EK_RESTRICT k_scale,
    const float *EK_RESTRICT v_scale, const float factor, const int32_t m)
{
    float key[EK_ATTENTION_KEYS], value[EK_ATTENTION_KEYS];
    const int32_t end = (m + 15) / 16 * 16;
    uint32_t up = 0;
    int32_t top = INT32_MIN, sum = 0;
    for (int32_t j = 0; j < m; j++) {
        key[j] = k_scale[j];
        value[j] = v_scale[j];
    }
    for (int32_t j = m; j < end; j++) {
        a->scores[j] = a->scores[0];
        key[j] = key[0];
        value[j] = value[0];
    }
    for (int32_t i = 0; i < end; i += 16)
        for (int32_t j = i; j < i + 16; j++)
            a->scores[j] = ek_attention_power(ek_attention_score(a->scores[j], key[j], factor));
    for (int32_t i = 0; i < end; i += 16)
        for (int32_t j = i; j < i + 16; j++) {
            const uint32_t exponent = ek_attention_exponent(value[j]);
            up = exponent > up ? exponent : up;
            top = a->scores[j] > top ? a->scores[j] : top;
        }
    top >>= 16;
    for (int32_t i = 0; i < end; i += 16)
        for (int32_t j = i; j < i + 16; j++) {
            const int32_t weight = ek_attention_weight(a->scores[j], top);
            sum += weight;
            a->weights[j] = ek_attention_factor(weight, value[j], up);
        }
    sum -= (end - m) * ek_attention_weight(a->scores[0], top);
    for (int32_t j = m; j < end; j++)
        a->weights[j] = 0;
    ek_attention_join(a, top, up, sum);
}

#endif
