/* Sums of floats with a scalar FPU: eight of them are loaded by one instruction, and stored by one.
 * @when sa == 1 and sb == 1 @work inputs, positions, rest cells */
#include "edgekit/contracts/map2.h"

EK_KERNEL void EK_FN(const EK_A *pa, const EK_B *pb, EK_Y *py, const struct EK_STRUCT *p)
{
    const float *a = pa + p->a0, *b = pb + p->b0;
    float *y = py + p->y0;
    int32_t left = p->n;
    for (; left >= 8; left -= 8)
        __asm volatile("vldm %[a]!, {s0-s7}\n"
                       "vldm %[b]!, {s8-s15}\n"
                       "vadd.f32 s0, s0, s8\n"
                       "vadd.f32 s1, s1, s9\n"
                       "vadd.f32 s2, s2, s10\n"
                       "vadd.f32 s3, s3, s11\n"
                       "vadd.f32 s4, s4, s12\n"
                       "vadd.f32 s5, s5, s13\n"
                       "vadd.f32 s6, s6, s14\n"
                       "vadd.f32 s7, s7, s15\n"
                       "vstm %[y]!, {s0-s7}"
            : [a] "+r"(a), [b] "+r"(b), [y] "+r"(y)
            :
            : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14",
            "s15", "memory");
    for (int32_t i = 0; i < left; i++)
        y[i] = a[i] + b[i];
}
