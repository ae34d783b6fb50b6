/* Sums that stay in registers on RISC-V without vectors. */
#ifndef EDGEKIT_ADD_RISCV_H
#define EDGEKIT_ADD_RISCV_H

#include "edgekit/types.h"

/* sum + product, before the next sum: else compilers compute all products first, and have no registers left for sums. */
EK_INLINE int32_t ek_add_in_turn(int32_t sum, const int32_t product)
{
    sum += product;
    __asm volatile("" : "+r"(sum));
    return sum;
}

#endif
