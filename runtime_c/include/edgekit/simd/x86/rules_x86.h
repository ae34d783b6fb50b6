/* The requantization rules by number, as kernels for x86 name them; what they call is resolved by the compiler. */
#ifndef EDGEKIT_RULES_X86_H
#define EDGEKIT_RULES_X86_H

#include <stddef.h>

#include "edgekit/types.h"

/* Stands before functions whose loops are as long as their arguments say: always parts of their callers. */
#define EK_PART static inline __attribute__((always_inline))

/* Four bytes anywhere. */
typedef int32_t ek_four_x86 __attribute__((aligned(1), may_alias));

EK_INLINE int32_t ek_requantize_e_kind(void)
{
    return 0;
}
EK_INLINE int32_t ek_requantize_e_wide_kind(void)
{
    return 1;
}
EK_INLINE int32_t ek_requantize_once_kind(void)
{
    return 2;
}
EK_INLINE int32_t ek_requantize_tfl_kind(void)
{
    return 3;
}
/* nearest(scale sum + offset) in float32, m and e being the bits of scales and of offsets. */
EK_INLINE int32_t ek_requantize_line_kind(void)
{
    return 4;
}
/* The same, offsets with the sign of the sum. */
EK_INLINE int32_t ek_requantize_line_away_kind(void)
{
    return 5;
}

#endif
