/* What kernels of int8 for x86 of all widths begin with. */
#ifndef EDGEKIT_RULES_X86_H
#define EDGEKIT_RULES_X86_H

#include <stddef.h>

#include "edgekit/loops/rule_kinds.h"
#include "edgekit/types.h"

/* Stands before functions whose loops are as long as their arguments say: always parts of their callers. */
#define EK_PART static inline __attribute__((always_inline))

/* Four bytes anywhere. */
typedef int32_t ek_four_x86 __attribute__((aligned(1), may_alias));

#endif
