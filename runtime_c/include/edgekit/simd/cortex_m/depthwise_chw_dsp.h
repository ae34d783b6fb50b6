/* One channel of a depthwise convolution with 3 by 3 taps, by DSP instructions: the channel lies in 16 bits, padded, as
 * a plane of its own; two results of a row advance together, and weights stay in registers.
 * stack 84 */
#ifndef EDGEKIT_DEPTHWISE_CHW_DSP_H
#define EDGEKIT_DEPTHWISE_CHW_DSP_H

#include "edgekit/simd/cortex_m/fixed_dsp.h"

/* What the functions below must know. Distances are in bytes. */
struct ek_plane {
    int32_t bias[2]; /* doubled, twice the same */
    int32_t scale
        [2]; /* multiplier, and -exponent - 1; E and TFL_UP: multiplier, and what is added to the high word */
    int32_t offset; /* 2 zero + 1; E and TFL_UP: the shift of the high word */
    int32_t step; /* of y from one result to the next */
    int32_t skip; /* of the plane from behind a row to the next one that is read */
    int32_t row_step; /* of the plane from one row that is read to the next */
    int32_t y_skip; /* of y, as skip */
    const int16_t *end; /* of the first row: behind the last result */
    int32_t rows; /* of y */
    int32_t row_bytes; /* of the plane */
    uint32_t w[6]; /* of each row of taps, doubled: the first two, the last two */
};
EK_ASSEMBLY_OFFSET(struct ek_plane, bias, 0);
EK_ASSEMBLY_OFFSET(struct ek_plane, scale, 8);
EK_ASSEMBLY_OFFSETS(struct ek_plane, 16, offset, step, skip, row_step);
EK_ASSEMBLY_OFFSETS(struct ek_plane, 32, y_skip, end, rows, row_bytes);
EK_ASSEMBLY_OFFSET(struct ek_plane, w, 48);

/* Adds the products of a row of taps to both sums; the row has a pointer in `p`, its weights are in u and v. */
#define EK_PLANE_TAPS_1(p, u, v)                                                                             \
    "ldrd r12, lr, [" #p "], #4\n"                                                                           \
    "smlad r10, r12, " #u ", r10\n"                                                                          \
    "smlatb r11, r12, " #u ", r11\n"                                                                         \
    "smlabt r10, lr, " #v ", r10\n"                                                                          \
    "smlad r11, lr, " #v ", r11\n"
#define EK_PLANE_TAPS_2(p, u, v)                                                                             \
    "ldrd r12, lr, [" #p "], #8\n"                                                                           \
    "smlad r10, r12, " #u ", r10\n"                                                                          \
    "smlabt r10, lr, " #v ", r10\n"                                                                          \
    "smlad r11, lr, " #u ", r11\n"                                                                           \
    "ldr r12, [" #p "]\n"                                                                                    \
    "smlabt r11, r12, " #v ", r11\n"

/* Called with  r0 the plane, r1 y, r2 the channel
 * Stack        the first twelve words of the channel, of which end and rows go on
 * Loop         r0-r2 the rows that are read, r3 y, r4-r9 weights, r10 r11 two sums, r12 lr numbers of the plane,
 *              then constants; of an odd number of results, the last one has no neighbour */
/* clang-format off */
#define EK_PLANE(taps, requantize)                                                                           \
    "push {r4-r11, lr}\n"                                                                                    \
    "mov r12, r2\n"                                                                                          \
    "add r2, r2, #32\n"                                                                                      \
    "ldm r2!, {r4-r7}\n"                                                                                     \
    "push {r4-r7}\n"                                                                                         \
    "ldm r12, {r4-r11}\n"                                                                                    \
    "push {r4-r11}\n"                                                                                        \
    "ldm r2, {r4-r9}\n"                                                                                      \
    "mov r3, r1\n"                                                                                           \
    "ldr r12, [sp, #44]\n"                                                                                   \
    "add r1, r0, r12\n"                                                                                      \
    "add r2, r1, r12\n"                                                                                      \
    "1:\n" /* two results; the last two of a row, and the next row */                                        \
        "ldrd r10, r11, [sp]\n"                                                                              \
        taps(r0, r4, r5)                                                                                     \
        taps(r1, r6, r7)                                                                                     \
        taps(r2, r8, r9)                                                                                     \
        requantize                                                                                           \
        "ldr r12, [sp, #36]\n"                                                                               \
        "cmp r0, r12\n"                                                                                      \
        "strb r10, [r3]\n"                                                                                   \
        "it ls\n"                                                                                            \
        "strbls r11, [r3, lr]\n"                                                                             \
        "add.w r3, r3, lr, lsl #1\n"                                                                         \
        "blo 1b\n"                                                                                           \
        "ldrd r10, r11, [sp, #24]\n"                                                                         \
        "add r0, r0, r10\n"                                                                                  \
        "add r1, r1, r10\n"                                                                                  \
        "add r2, r2, r10\n"                                                                                  \
        "add r12, r12, r11\n"                                                                                \
        "ldr r10, [sp, #32]\n"                                                                               \
        "str r12, [sp, #36]\n"                                                                               \
        "add r3, r3, r10\n"                                                                                  \
        "ldr r12, [sp, #40]\n"                                                                               \
        "subs r12, r12, #1\n"                                                                                \
        "str r12, [sp, #40]\n"                                                                               \
        "bne 1b\n"                                                                                           \
    "add sp, sp, #48\n"                                                                                      \
    "pop {r4-r11, pc}\n"
/* clang-format on */

#define EK_PLANE_RULE(NAME, step, requantize)                                                                \
    static EK_ASSEMBLY void ek_requantize_##NAME##_plane_##step(const int16_t *plane EK_IN_ASSEMBLY,         \
        int8_t *y EK_IN_ASSEMBLY, const struct ek_plane *channel EK_IN_ASSEMBLY)                             \
    {                                                                                                        \
        __asm volatile(EK_PLANE(EK_PLANE_TAPS_##step, requantize));                                          \
    }

EK_PLANE_RULE(tfl, 1, EK_PLANE_TFL)
EK_PLANE_RULE(tfl, 2, EK_PLANE_TFL)
EK_PLANE_RULE(tfl_up, 1, EK_PLANE_TFL_UP)
EK_PLANE_RULE(tfl_up, 2, EK_PLANE_TFL_UP)
EK_PLANE_RULE(e, 1, EK_PLANE_E)
EK_PLANE_RULE(e, 2, EK_PLANE_E)

/* Four bytes, each so many behind the last, become 16 bits; compilers find fewer of these addresses. */
static inline void ek_spread_four(const int8_t **from, int32_t step, int16_t **to)
{
    int32_t t, u;
    __asm volatile("ldrsb %2, [%0]\n"
                   "ldrsb %3, [%0, %4]\n"
                   "strh %2, [%1], #2\n"
                   "ldrsb %2, [%0, %4, lsl #1]\n"
                   "strh %3, [%1], #2\n"
                   "add %0, %0, %4, lsl #2\n"
                   "ldrsb %3, [%0, %5]\n"
                   "strh %2, [%1], #2\n"
                   "strh %3, [%1], #2"
        : "+&r"(*from), "+&r"(*to), "=&r"(t), "=&r"(u)
        : "r"(step), "r"(-step)
        : "memory");
}

/* The constants of channel c by each rule. */
static inline void ek_requantize_tfl_channel(
    const int32_t *m, const int8_t *e, int32_t c, int32_t zero, struct ek_plane *channel)
{
    channel->scale[0] = m[c];
    channel->scale[1] = e[c];
    channel->offset = 2 * zero + 1;
}

static inline void ek_requantize_tfl_up_channel(
    const int32_t *m, const int8_t *e, int32_t c, int32_t zero, struct ek_plane *channel)
{
    channel->scale[0] = m[c];
    channel->scale[1] = (2 * zero + 1) * (1 << e[c]);
    channel->offset = e[c] + 1;
}

static inline void ek_requantize_e_channel(
    const int32_t *m, const int8_t *e, int32_t c, int32_t zero, struct ek_plane *channel)
{
    channel->scale[0] = m[c];
    ek_requantize_e_constants(e, zero, &channel->scale[1], &channel->offset);
}

#endif
