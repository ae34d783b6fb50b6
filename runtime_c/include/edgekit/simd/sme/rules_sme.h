/* The requantization rules in streaming mode (SME), and what kernels do behind them. ek_requantize_<rule>_exponents reads what
 * the rule needs of the exponents of outputs, ek_requantize_<rule>_vector takes sums of as many outputs as a vector has. */
#ifndef EDGEKIT_RULES_SME_H
#define EDGEKIT_RULES_SME_H

#include "edgekit/simd/sme/panels_sme.h"

/* Rule E: the doubled product, its upper half, and a rounding shift. */
EK_INLINED svint32_t ek_requantize_e_exponents(
    const int8_t *e, const int32_t o, const svbool_t each) EK_STREAMING
{
    (void)o, (void)each;
    return svdup_s32(31 - e[0]);
}

EK_INLINED svint32_t ek_requantize_e_vector(
    const svint32_t sum, const svint32_t m, const svint32_t e) EK_STREAMING
{
    return svrshl_x(svptrue_b32(), svqdmulh(sum, m), e);
}

/* Rule E for large ratios: products of 64 bits, and what leaves 32 is saturated. */
EK_INLINED svint32_t ek_requantize_e_wide_exponents(
    const int8_t *e, const int32_t o, const svbool_t each) EK_STREAMING
{
    (void)o, (void)each;
    return svdup_s32(-e[0]);
}

EK_INLINED svint32_t ek_requantize_e_wide_vector(
    const svint32_t sum, const svint32_t m, const svint32_t e) EK_STREAMING
{
    const svbool_t all = svptrue_b64();
    const svint64_t even = svrshl_x(all, svmullb(sum, m), svmovlb(e));
    return svqxtnt(svqxtnb(even), svrshl_x(all, svmullt(sum, m), svmovlt(e)));
}

/* Rule T: m is not negative, so that SQRDMULH does not saturate. The second rounding takes halves away from zero, but where it
 * does not shift. */
EK_INLINED svint32_t ek_requantize_tfl_exponents(
    const int8_t *e, const int32_t o, const svbool_t each) EK_STREAMING
{
    return svld1sb_s32(each, e + o);
}

EK_INLINED svint32_t ek_requantize_tfl_vector(
    const svint32_t sum, const svint32_t m, const svint32_t e) EK_STREAMING
{
    const svbool_t all = svptrue_b32();
    const svint32_t up = svlsl_x(all, sum, svreinterpret_u32(svmax_x(all, e, 0)));
    const svint32_t product = svqrdmulh(up, m);
    return svrshl_x(all, svsra(product, svand_x(all, product, e), 31), svmin_x(all, e, 0));
}

/* The same where every exponent is negative. */
EK_INLINED svint32_t ek_requantize_tfl_down_exponents(
    const int8_t *e, const int32_t o, const svbool_t each) EK_STREAMING
{
    return svld1sb_s32(each, e + o);
}

EK_INLINED svint32_t ek_requantize_tfl_down_vector(
    const svint32_t sum, const svint32_t m, const svint32_t e) EK_STREAMING
{
    const svint32_t product = svqrdmulh(sum, m);
    return svrshl_x(svptrue_b32(), svsra(product, product, 31), e);
}

/* One rounding, halves away from zero. */
EK_INLINED svint32_t ek_requantize_once_exponents(
    const int8_t *e, const int32_t o, const svbool_t each) EK_STREAMING
{
    return svsub_x(each, svld1sb_s32(each, e + o), 31);
}

EK_INLINED svint32_t ek_requantize_once_vector(
    const svint32_t sum, const svint32_t m, const svint32_t e) EK_STREAMING
{
    const svbool_t all = svptrue_b64();
    const svint64_t even = svmullb(sum, m), odd = svmullt(sum, m);
    const svint64_t y = svrshl_x(all, svsra(even, even, 63), svmovlb(e));
    return svqxtnt(svqxtnb(y), svrshl_x(all, svsra(odd, odd, 63), svmovlt(e)));
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
