/* The requantization rules for as many sums as two, four or eight vector registers of RISC-V hold, and what kernels do
 * before and behind them. Nothing here knows how long vectors are: `vl` is how many elements count. */
#ifndef EDGEKIT_RULES_RVV_H
#define EDGEKIT_RULES_RVV_H

#include "edgekit/simd/riscv/vectors_rvv.h"

/* ek_requantize_<rule>_<registers>: of sums from output `o` on, with multipliers m and exponents e.
 *   e         the upper halves of products, and a shift that rounds halves up
 *   tfl       rule T: m is not negative, so that the doubled product does not saturate; the second rounding takes halves
 *             away from zero, but where it does not shift
 *   tfl_down  the same where every exponent is negative
 *   tfl_up, tfl_down_up   the same with halves that go up: results below zero are clamped
 * ek_<registers>_finish: results as int8: zero is added, and they are clamped. What saturates on the way is outside.
 * ek_<registers>_finish_s16: the same as int16. */
#define EK_RULES_RVV(sums, half, quarter)                                                                    \
    EK_INLINE vint32##sums##_t ek_requantize_e_##sums(                                                       \
        const vint32##sums##_t acc, const int32_t *m, const int8_t *e, const int32_t o, const size_t vl)     \
    {                                                                                                        \
        const vint32##sums##_t high = __riscv_vmulh(acc, __riscv_vle32_v_i32##sums(m + o, vl), vl);          \
        return __riscv_vssra(high, (size_t)(e[0] - 32), __RISCV_VXRM_RNU, vl);                               \
    }                                                                                                        \
    EK_INLINE vint32##sums##_t ek_##sums##_exponents(const int8_t *e, const size_t vl)                       \
    {                                                                                                        \
        return __riscv_vsext_vf4(__riscv_vle8_v_i8##quarter(e, vl), vl);                                     \
    }                                                                                                        \
    EK_INLINE vint32##sums##_t ek_requantize_tfl_##sums(                                                     \
        const vint32##sums##_t acc, const int32_t *m, const int8_t *e, const int32_t o, const size_t vl)     \
    {                                                                                                        \
        const vint32##sums##_t exponents = ek_##sums##_exponents(e + o, vl);                                 \
        const vint32##sums##_t down = __riscv_vmin(exponents, 0, vl);                                        \
        const vint32##sums##_t up =                                                                          \
            __riscv_vsll(acc, __riscv_vreinterpret_u32##sums(__riscv_vmax(exponents, 0, vl)), vl);           \
        const vint32##sums##_t product =                                                                     \
            __riscv_vsmul(up, __riscv_vle32_v_i32##sums(m + o, vl), __RISCV_VXRM_RNU, vl);                   \
        const vint32##sums##_t away =                                                                        \
            __riscv_vadd(product, __riscv_vsra(__riscv_vand(product, down, vl), 31, vl), vl);                \
        return __riscv_vssra(                                                                                \
            away, __riscv_vreinterpret_u32##sums(__riscv_vneg(down, vl)), __RISCV_VXRM_RNU, vl);             \
    }                                                                                                        \
    EK_INLINE vint32##sums##_t ek_requantize_tfl_down_##sums(                                                \
        const vint32##sums##_t acc, const int32_t *m, const int8_t *e, const int32_t o, const size_t vl)     \
    {                                                                                                        \
        const vint32##sums##_t product =                                                                     \
            __riscv_vsmul(acc, __riscv_vle32_v_i32##sums(m + o, vl), __RISCV_VXRM_RNU, vl);                  \
        const vint32##sums##_t away = __riscv_vadd(product, __riscv_vsra(product, 31, vl), vl);              \
        const vint32##sums##_t shifts = __riscv_vneg(ek_##sums##_exponents(e + o, vl), vl);                  \
        return __riscv_vssra(away, __riscv_vreinterpret_u32##sums(shifts), __RISCV_VXRM_RNU, vl);            \
    }                                                                                                        \
    EK_INLINE vint32##sums##_t ek_requantize_tfl_up_##sums(                                                  \
        const vint32##sums##_t acc, const int32_t *m, const int8_t *e, const int32_t o, const size_t vl)     \
    {                                                                                                        \
        const vint32##sums##_t exponents = ek_##sums##_exponents(e + o, vl);                                 \
        const vint32##sums##_t shifts = __riscv_vneg(__riscv_vmin(exponents, 0, vl), vl);                    \
        const vint32##sums##_t up =                                                                          \
            __riscv_vsll(acc, __riscv_vreinterpret_u32##sums(__riscv_vmax(exponents, 0, vl)), vl);           \
        const vint32##sums##_t product =                                                                     \
            __riscv_vsmul(up, __riscv_vle32_v_i32##sums(m + o, vl), __RISCV_VXRM_RNU, vl);                   \
        return __riscv_vssra(product, __riscv_vreinterpret_u32##sums(shifts), __RISCV_VXRM_RNU, vl);         \
    }                                                                                                        \
    EK_INLINE vint32##sums##_t ek_requantize_tfl_down_up_##sums(                                             \
        const vint32##sums##_t acc, const int32_t *m, const int8_t *e, const int32_t o, const size_t vl)     \
    {                                                                                                        \
        const vint32##sums##_t product =                                                                     \
            __riscv_vsmul(acc, __riscv_vle32_v_i32##sums(m + o, vl), __RISCV_VXRM_RNU, vl);                  \
        const vint32##sums##_t shifts = __riscv_vneg(ek_##sums##_exponents(e + o, vl), vl);                  \
        return __riscv_vssra(product, __riscv_vreinterpret_u32##sums(shifts), __RISCV_VXRM_RNU, vl);         \
    }                                                                                                        \
    EK_INLINE void ek_##sums##_finish(int8_t *y, const vint32##sums##_t acc, const int32_t zero,             \
        const int32_t lo, const int32_t hi, const size_t vl)                                                 \
    {                                                                                                        \
        const vint32##sums##_t moved = zero ? __riscv_vsadd(acc, zero, vl) : acc;                            \
        const vint16##half##_t narrow = __riscv_vnclip(moved, 0, __RISCV_VXRM_RNU, vl);                      \
        vint8##quarter##_t bytes = __riscv_vnclip(narrow, 0, __RISCV_VXRM_RNU, vl);                          \
        if (lo > -128)                                                                                       \
            bytes = __riscv_vmax(bytes, (int8_t)lo, vl);                                                     \
        if (hi < 127)                                                                                        \
            bytes = __riscv_vmin(bytes, (int8_t)hi, vl);                                                     \
        __riscv_vse8(y, bytes, vl);                                                                          \
    }                                                                                                        \
    EK_INLINE void ek_##sums##_finish_s16(int16_t *y, const vint32##sums##_t acc, const int32_t zero,        \
        const int32_t lo, const int32_t hi, const size_t vl)                                                 \
    {                                                                                                        \
        const vint32##sums##_t moved = zero ? __riscv_vsadd(acc, zero, vl) : acc;                            \
        const vint32##sums##_t kept = __riscv_vmin(__riscv_vmax(moved, lo, vl), hi, vl);                     \
        __riscv_vse16(y, __riscv_vnclip(kept, 0, __RISCV_VXRM_RNU, vl), vl);                                 \
    }

EK_RULES_RVV(m2, m1, mf2)
EK_RULES_RVV(m4, m2, m1)
EK_RULES_RVV(m8, m4, m2)

/* Products of 64 bits, and what leaves 32 is saturated:
 *   e_wide    rule E for large ratios
 *   once      one rounding, halves away from zero */
#define EK_WIDE_RULES_RVV(sums, twice)                                                                       \
    EK_INLINE vint32##sums##_t ek_requantize_e_wide_##sums(                                                  \
        const vint32##sums##_t acc, const int32_t *m, const int8_t *e, const int32_t o, const size_t vl)     \
    {                                                                                                        \
        const vint64##twice##_t products = __riscv_vwmul(acc, __riscv_vle32_v_i32##sums(m + o, vl), vl);     \
        return __riscv_vnclip(products, (size_t)e[0], __RISCV_VXRM_RNU, vl);                                 \
    }                                                                                                        \
    EK_INLINE vint32##sums##_t ek_requantize_once_##sums(                                                    \
        const vint32##sums##_t acc, const int32_t *m, const int8_t *e, const int32_t o, const size_t vl)     \
    {                                                                                                        \
        const vint64##twice##_t products = __riscv_vwmul(acc, __riscv_vle32_v_i32##sums(m + o, vl), vl);     \
        const vint64##twice##_t away = __riscv_vadd(products, __riscv_vsra(products, 63, vl), vl);           \
        const vint32##sums##_t shifts = __riscv_vrsub(ek_##sums##_exponents(e + o, vl), 31, vl);             \
        return __riscv_vnclip(away, __riscv_vreinterpret_u32##sums(shifts), __RISCV_VXRM_RNU, vl);           \
    }

EK_WIDE_RULES_RVV(m2, m4)
EK_WIDE_RULES_RVV(m4, m8)

/* There are no vectors of sixteen registers: products of eight are those of two halves. */
#define EK_HALVES_RVV(rule)                                                                                  \
    EK_INLINE vint32m8_t ek_requantize_##rule##_m8(                                                          \
        const vint32m8_t acc, const int32_t *m, const int8_t *e, const int32_t o, const size_t vl)           \
    {                                                                                                        \
        const size_t most = __riscv_vsetvlmax_e32m4(), n = vl < most ? vl : most;                            \
        const vint32m4_t low = __riscv_vget_v_i32m8_i32m4(acc, 0),                                           \
                         high = __riscv_vget_v_i32m8_i32m4(acc, 1);                                          \
        return __riscv_vcreate_v_i32m4_i32m8(ek_requantize_##rule##_m4(low, m, e, o, n),                     \
            ek_requantize_##rule##_m4(high, m, e, o + (int32_t)n, vl - n));                                  \
    }

EK_HALVES_RVV(e_wide)
EK_HALVES_RVV(once)

#endif
