/* VMLA of the scalar FPU of Cortex-M: compilers take it for nothing, and VFMA, which rounds once, has other bits. */
#ifndef EDGEKIT_VMLA_H
#define EDGEKIT_VMLA_H

#include "edgekit/types.h"

/* a + b c, both rounded. */
EK_INLINE float ek_vmla(float a, const float b, const float c)
{
    __asm("vmla.f32 %0, %1, %2" : "+t"(a) : "t"(b), "t"(c));
    return a;
}

#endif
