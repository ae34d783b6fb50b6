/* The requantization rules in streaming mode (SME), and what kernels do behind them. */
#ifndef EDGEKIT_RULES_SME_H
#define EDGEKIT_RULES_SME_H

#include "edgekit/loops/rule_kinds.h"
#include "edgekit/simd/sme/panels_sme.h"

/* What the rule needs of the exponents of outputs from `o` on. */
EK_INLINED svint32_t ek_sme_exponents(
    const int32_t kind, const int8_t *e, const int32_t o, const svbool_t each) EK_STREAMING
{
    switch (kind) {
    case ek_requantize_e_kind:
        return svdup_s32(31 - e[0]);
    case ek_requantize_e_wide_kind:
        return svdup_s32(-e[0]);
    case ek_requantize_once_kind:
        return svsub_x(each, svld1sb_s32(each, e + o), 31);
    default:
        return svld1sb_s32(each, e + o);
    }
}

/* A vector of sums times m. Multipliers of rule T are not negative, so that SQRDMULH does not saturate. */
EK_INLINED svint32_t ek_sme_requantize(
    const int32_t kind, const svint32_t sum, const svint32_t m, const svint32_t e) EK_STREAMING
{
    const svbool_t all = svptrue_b32(), wide = svptrue_b64();
    svint32_t product;
    svint64_t even, odd;
    switch (kind) {
    case ek_requantize_e_kind:
        return svrshl_x(all, svqdmulh(sum, m), e);
    case ek_requantize_tfl_kind:
        product = svqrdmulh(svlsl_x(all, sum, svreinterpret_u32(svmax_x(all, e, 0))), m);
        return svrshl_x(all, svsra(product, svand_x(all, product, e), 31), svmin_x(all, e, 0));
    case ek_requantize_tfl_down_kind:
        product = svqrdmulh(sum, m);
        return svrshl_x(all, svsra(product, product, 31), e);
    default:
        even = svmullb(sum, m);
        odd = svmullt(sum, m);
        if (kind == ek_requantize_once_kind) {
            even = svsra(even, even, 63);
            odd = svsra(odd, odd, 63);
        }
        return svqxtnt(svqxtnb(svrshl_x(wide, even, svmovlb(e))), svrshl_x(wide, odd, svmovlt(e)));
    }
}

/* The first n results of up to four vectors of so many lanes as int8: zero is added, and they are clamped. What saturates on the
 * way is outside. Registers that are longer than a vector are stored one by one. */
EK_INLINED void ek_sme_store_s8(int8_t *y, const svint32_t a, const svint32_t b, const svint32_t c,
    const svint32_t d, const int32_t n, const int32_t lanes, const int32_t zero, const int32_t lo,
    const int32_t hi) EK_STREAMING
{
    const svbool_t all = svptrue_b8();
    const svint16_t low = svqadd(svuzp1(svqxtnb(a), svqxtnb(b)), (int16_t)zero);
    const svint16_t high = svqadd(svuzp1(svqxtnb(c), svqxtnb(d)), (int16_t)zero);
    const svint8_t z =
        svmin_x(all, svmax_x(all, svuzp1(svqxtnb(low), svqxtnb(high)), (int8_t)lo), (int8_t)hi);
    const int32_t more = (int32_t)svcntw() - lanes;
    if (more == 0) {
        svst1(svwhilelt_b8(0, n), y, z);
        return;
    }
    for (int32_t k = 0, from = 0; k < n; k += lanes, from += lanes + more) {
        const svbool_t before = svwhilelt_b8(0, from);
        const svbool_t until = svwhilelt_b8(0, from + (n - k < lanes ? n - k : lanes));
        svst1(svbic_z(all, until, before), y + k - from, z);
    }
}

#endif
