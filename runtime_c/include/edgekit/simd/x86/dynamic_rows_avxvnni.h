/* Rows that were quantized in this run, by AVX-VNNI: blocks of 16 outputs. */
#ifndef EDGEKIT_DYNAMIC_ROWS_AVXVNNI_H
#define EDGEKIT_DYNAMIC_ROWS_AVXVNNI_H

#include "edgekit/simd/x86/f32_avx2.h"
#include "edgekit/simd/x86/i32x8_avxvnni.h"

/* How many rows share the loads of weights. */
#define EK_DR_ROWS(kind) 4
#define EK_DR_BLOCK 16 /* outputs */

EK_INLINE __m256i ek_x8v_halves(const __m256i bytes)
{
    return _mm256_srli_epi16(bytes, 4);
}

EK_INLINE ek_vf ek_dr_reals(const __m256i sum)
{
    return _mm256_cvtepi32_ps(sum);
}

#define EK_WIDE(name) ek_x8v_##name
#include "edgekit/simd/x86/dynamic_rows_vnni.h"
#undef EK_WIDE

#endif
