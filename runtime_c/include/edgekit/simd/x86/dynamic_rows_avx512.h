/* Rows that were quantized in this run, by AVX-512 VNNI: blocks of 32 outputs. */
#ifndef EDGEKIT_DYNAMIC_ROWS_AVX512_H
#define EDGEKIT_DYNAMIC_ROWS_AVX512_H

#include "edgekit/simd/x86/f32_avx512.h"
#include "edgekit/simd/x86/i32x16_avx512.h"

/* How many rows share the loads of weights. */
#define EK_DR_ROWS(kind) 8
#define EK_DR_BLOCK 32 /* outputs */

EK_INLINE __m512i ek_x16_halves(const __m512i bytes)
{
    return _mm512_srli_epi16(bytes, 4);
}

EK_INLINE ek_vf ek_dr_reals(const __m512i sum)
{
    return _mm512_cvtepi32_ps(sum);
}

#define EK_WIDE(name) ek_x16_##name
#include "edgekit/simd/x86/dynamic_rows_vnni.h"
#undef EK_WIDE

#endif
