/* Sums of gates with AVX-VNNI; numbers are those of gates_avx2.h. */
#ifndef EDGEKIT_GATES_AVXVNNI_H
#define EDGEKIT_GATES_AVXVNNI_H

#include "edgekit/simd/x86/gates_avx2.h"
#include "edgekit/simd/x86/i32x8_avxvnni.h"

#define EK_X8V_ROWS 64

/* The state as products want it, copied to `room`. */
EK_INLINE const int8_t *ek_x8v_read(const int8_t *h, int16_t *room, const int32_t size)
{
    ek_x8v_copy(h, (uint8_t *)room, size);
    return (const int8_t *)room;
}

#define EK_WIDE(name) ek_x8v_##name
#define EK_MM(name) _mm256_##name
#define EK_LANES 8
#define EK_TAPS 4
#include "edgekit/simd/x86/gates_x86.h"
#undef EK_WIDE
#undef EK_MM
#undef EK_LANES
#undef EK_TAPS

#define EK_ONE(name) ek_x8_##name
#define EK_STATE(name) ek_x8v_##name
#define EK_ROWS EK_X8V_ROWS
#define EK_WIDTH 8
#include "edgekit/loops/gates_sums.h"
#undef EK_STATE
#undef EK_ONE
#undef EK_ROWS
#undef EK_WIDTH

#endif
