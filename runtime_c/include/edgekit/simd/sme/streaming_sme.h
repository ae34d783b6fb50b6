/* Streaming mode of the Scalable Matrix Extension (SME): the only one in which there are outer products, and in which there
 * is no NEON. A kernel enters it once, by EK_RUN_STREAMING. Registers have 128 to 512 bits there, or more: programs learn it
 * when they run. */
#ifndef EDGEKIT_STREAMING_SME_H
#define EDGEKIT_STREAMING_SME_H

#include <arm_sme.h>

#include "edgekit/types.h"

/* What stands behind the parameters of functions for this mode. Those call no others but such. */
#define EK_STREAMING __arm_streaming __arm_inout("za")

/* x18 is no register for programs on some systems. */
#if defined(__APPLE__) || defined(__ANDROID__) || defined(_WIN32)
#define EK_X18_SME
#else
#define EK_X18_SME "x18",
#endif

/* Registers that compilers use outside of streaming mode, too, where processors have SVE. */
#ifdef __ARM_FEATURE_SVE
#define EK_PREDICATES_SME                                                                                    \
    "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14", "p15",
#else
#define EK_PREDICATES_SME
#endif

/* Calls a function for streaming mode, with one pointer. Compilers that enter the mode themselves call functions of a runtime
 * that few have (__arm_tpidr2_save, __arm_get_current_vg). As the ABI wants it, what a caller left in ZA to be saved late
 * is saved first: TPIDR2_EL0 is the address of a pointer to memory, and behind it the number of rows. Entering and leaving the
 * mode clears vector registers. */
/* clang-format off */
#define EK_RUN_STREAMING(function, pointer)                                                                 \
    do {                                                                                                    \
        register const void *ek_x0 __asm__("x0") = (pointer);                                               \
        __asm__ volatile(                                                                                   \
            "mrs x8, TPIDR2_EL0\n"                                                                          \
            "cbz x8, 3f\n"                                                                                  \
            "ldr x9, [x8]\n"                                                                                \
            "ldrh w10, [x8, #8]\n"                                                                          \
            "mov w12, #0\n"                                                                                 \
            "1:\n"                                                                                          \
                "cmp w12, w10\n"                                                                            \
                "b.hs 2f\n"                                                                                 \
                "str za[w12, 0], [x9]\n"                                                                    \
                "addsvl x9, x9, #1\n"                                                                       \
                "add w12, w12, #1\n"                                                                        \
                "b 1b\n"                                                                                    \
            "2:\n"                                                                                          \
            "msr TPIDR2_EL0, xzr\n"                                                                         \
            "3:\n"                                                                                          \
            "smstart\n"                                                                                     \
            "bl %1\n"                                                                                       \
            "smstop\n"                                                                                      \
            : "+r"(ek_x0)                                                                                   \
            : "S"(function)                                                                                 \
            : "memory", "cc", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",    \
            "x13", "x14", "x15", "x16", "x17", EK_X18_SME EK_PREDICATES_SME "x30", "v0", "v1", "v2", "v3",  \
            "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17",     \
            "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",      \
            "v31");                                                                                         \
    } while (0)
/* clang-format on */

#endif
