/* What kernels for Helium share: products of int8, 16 at a time, into general registers; copies; stores. The products
 * are assembly, because compilers keep eight sums, which must be in even registers, badly. */
#ifndef EDGEKIT_MVE_H
#define EDGEKIT_MVE_H

#include <arm_mve.h>

/* Copies n bytes, of 0 and more. q0 has sixteen of them, lr how many are left; so it is in the next ones. */
static inline void ek_mve_copy(int8_t *to, const int8_t *from, int32_t n)
{
    /* clang-format off */
    __asm volatile(
        "wlstp.8 lr, %[n], 2f\n"
        "1:\n"
            "vldrb.u8 q0, [%[from]], #16\n"
            "vstrb.8 q0, [%[to]], #16\n"
            "letp lr, 1b\n"
        "2:\n"
        : [to] "+r"(to), [from] "+r"(from)
        : [n] "r"(n)
        : "q0", "lr", "memory");
    /* clang-format on */
}

/* Sets n bytes, of 0 and more. q0 has sixteen of them, lr how many are left. */
static inline void ek_mve_fill(int8_t *to, int32_t value, int32_t n)
{
    /* clang-format off */
    __asm volatile(
        "vdup.8 q0, %[value]\n"
        "wlstp.8 lr, %[n], 2f\n"
        "1:\n"
            "vstrb.8 q0, [%[to]], #16\n"
            "letp lr, 1b\n"
        "2:\n"
        : [to] "+r"(to)
        : [n] "r"(n), [value] "r"(value)
        : "q0", "lr", "memory");
    /* clang-format on */
}

/* y[i] = table[x[i] + 128] for n bytes, 0 and more. q0 numbers, then their places in the table; q1 what turns one into
 * the other; q2 results. */
static inline void ek_mve_look_up(const int8_t *x, const int8_t *table, int8_t *y, int32_t n)
{
    /* clang-format off */
    __asm volatile(
        "mov r12, #128\n"
        "vdup.8 q1, r12\n"
        "wlstp.8 lr, %[n], 2f\n"
        "1:\n"
            "vldrb.u8 q0, [%[x]], #16\n"
            "veor q0, q0, q1\n"
            "vldrb.u8 q2, [%[table], q0]\n"
            "vstrb.8 q2, [%[y]], #16\n"
            "letp lr, 1b\n"
        "2:\n"
        : [x] "+r"(x), [y] "+r"(y)
        : [n] "r"(n), [table] "r"(table)
        : "q0", "q1", "q2", "r12", "lr", "memory");
    /* clang-format on */
}

/* To the nearest integers, halves to the even one, or away from zero. */
static inline int32x4_t ek_even_x4(float32x4_t v)
{
    return vcvtnq_s32_f32(v);
}

static inline int32x4_t ek_away_x4(float32x4_t v)
{
    return vcvtaq_s32_f32(v);
}

/* The largest of n bytes, one or more. */
static inline int32_t ek_mve_largest(const int8_t *x, int32_t n)
{
    int8_t most = -128;
    for (; n > 0; n -= 16, x += 16) {
        const mve_pred16_t lanes = vctp8q((uint32_t)n);
        most = vmaxvq_p_s8(most, vldrbq_z_s8(x, lanes), lanes);
    }
    return most;
}

/* `n` blocks, 1 or more: the first makes the sums, all others add to them. */
/* clang-format off */
#define EK_MVE_BLOCKS(BLOCK)                                                                                 \
    BLOCK("vmladav")                                                                                         \
    "subs %[n], #1\n"                                                                                        \
    "beq 2f\n"                                                                                               \
    "1:\n"                                                                                                   \
        BLOCK("vmladava")                                                                                    \
        "subs %[n], #1\n"                                                                                    \
        "bne 1b\n"                                                                                           \
    "2:\n"

/* The same where lr is free: it counts turns of two blocks, behind one or two. */
#ifdef __OPTIMIZE_SIZE__
#define EK_MVE_BLOCKS_BY_LR(BLOCK) EK_MVE_BLOCKS(BLOCK)
#else
#define EK_MVE_BLOCKS_BY_LR(BLOCK)                                                                           \
    BLOCK("vmladav")                                                                                         \
    "subs %[n], #1\n"                                                                                        \
    "lsrs %[n], %[n], #1\n"                                                                                  \
    "bcc 1f\n"                                                                                               \
    BLOCK("vmladava")                                                                                        \
    "1:\n"                                                                                                   \
    "wls lr, %[n], 3f\n"                                                                                     \
    "2:\n"                                                                                                   \
        BLOCK("vmladava") BLOCK("vmladava")                                                                  \
        "le lr, 2b\n"                                                                                        \
    "3:\n"
#endif
/* clang-format on */

/* 16 products each of x and x' with the weights of four outputs. q0 x, q1 x', q2 and q3 weights in turn; a0 to a3 sums
 * of x, b0 to b3 of x'. */
#define EK_MVE_2X4(OP)                                                                                       \
    "vldrb.u8 q0, [%[x]], #16\n"                                                                             \
    "vldrb.u8 q2, [%[w]], #16\n" OP ".s8 %[a0], q0, q2\n"                                                    \
    "vldrb.u8 q1, [%[u]], #16\n" OP ".s8 %[b0], q1, q2\n"                                                    \
    "vldrb.u8 q3, [%[w]], #16\n" OP ".s8 %[a1], q0, q3\n" OP ".s8 %[b1], q1, q3\n"                           \
    "vldrb.u8 q2, [%[w]], #16\n" OP ".s8 %[a2], q0, q2\n" OP ".s8 %[b2], q1, q2\n"                           \
    "vldrb.u8 q3, [%[w]], #16\n" OP ".s8 %[a3], q0, q3\n" OP ".s8 %[b3], q1, q3\n"

/* ... of x alone. */
#define EK_MVE_1X4(OP)                                                                                       \
    "vldrb.u8 q0, [%[x]], #16\n"                                                                             \
    "vldrb.u8 q2, [%[w]], #16\n" OP ".s8 %[a0], q0, q2\n"                                                    \
    "vldrb.u8 q3, [%[w]], #16\n" OP ".s8 %[a1], q0, q3\n"                                                    \
    "vldrb.u8 q2, [%[w]], #16\n" OP ".s8 %[a2], q0, q2\n"                                                    \
    "vldrb.u8 q3, [%[w]], #16\n" OP ".s8 %[a3], q0, q3\n"

/* Four sums into a vector: two lanes that are two apart take two registers at once. */
#define EK_MVE_JOIN(V)                                                                                       \
    "vmov %q[" #V "][2], %q[" #V "][0], %[" #V "0], %[" #V "2]\n"                                            \
    "vmov %q[" #V "][3], %q[" #V "][1], %[" #V "1], %[" #V "3]\n"

/* Two rows of x times four of w, n >= 1 blocks of 16 each: w holds a block of each of its rows in turn. Sums of x are
 * in r0, r2, r4 and r6, those of x' in r8, r10, r12 and lr: vmladava takes even registers. r1 x, r3 x', r5 w, r9 blocks
 * left; q0 and q1, x and x' at first, are the results. */
static inline void ek_mve_dot_2x4(
    const int8_t *x0, const int8_t *x1, const int8_t *w0, int32_t blocks, int32x4_t *sum0, int32x4_t *sum1)
{
    register int32_t a0 __asm("r0"), a1 __asm("r2"), a2 __asm("r4"), a3 __asm("r6");
    register int32_t b0 __asm("r8"), b1 __asm("r10"), b2 __asm("r12"), b3 __asm("lr");
    register const int8_t *x __asm("r1") = x0, *u __asm("r3") = x1, *w __asm("r5") = w0;
    register int32_t n __asm("r9") = blocks;
    register int32x4_t a __asm("q0"), b __asm("q1");
    __asm volatile(EK_MVE_BLOCKS(EK_MVE_2X4) EK_MVE_JOIN(a) EK_MVE_JOIN(b)
        : [x] "+r"(x), [u] "+r"(u), [w] "+r"(w), [n] "+r"(n), [a0] "=&r"(a0), [a1] "=&r"(a1), [a2] "=&r"(a2),
        [a3] "=&r"(a3), [b0] "=&r"(b0), [b1] "=&r"(b1), [b2] "=&r"(b2), [b3] "=&r"(b3), [a] "=&w"(a),
        [b] "=&w"(b)
        :
        : "q2", "q3", "cc", "memory");
    *sum0 = a;
    *sum1 = b;
}

/* One row of x times four of w, in the registers of ek_mve_dot_2x4 as far as they are needed. */
static inline int32x4_t ek_mve_dot_1x4(const int8_t *x0, const int8_t *w0, int32_t blocks)
{
    register int32_t a0 __asm("r0"), a1 __asm("r2"), a2 __asm("r4"), a3 __asm("r6");
    register const int8_t *x __asm("r1") = x0, *w __asm("r5") = w0;
    register int32_t n __asm("r9") = blocks;
    register int32x4_t a __asm("q0");
    __asm volatile(EK_MVE_BLOCKS_BY_LR(EK_MVE_1X4) EK_MVE_JOIN(a)
        : [x] "+r"(x), [w] "+r"(w), [n] "+r"(n), [a0] "=&r"(a0), [a1] "=&r"(a1), [a2] "=&r"(a2),
        [a3] "=&r"(a3), [a] "=&w"(a)
        :
        : "q2", "q3", "lr", "cc", "memory");
    return a;
}

/* The same where a row of x ends within a block, behind `rest` bytes, and nothing behind them may be read. */
static inline int32x4_t ek_mve_tail_1x4(const int8_t *x, const int8_t *w, int32_t rest)
{
    const int8x16_t last = vldrbq_z_s8(x, vctp8q((uint32_t)rest));
    int32x4_t sum = vdupq_n_s32(vmladavq_s8(last, vldrbq_s8(w)));
    sum = vsetq_lane_s32(vmladavq_s8(last, vldrbq_s8(w + 16)), sum, 1);
    sum = vsetq_lane_s32(vmladavq_s8(last, vldrbq_s8(w + 32)), sum, 2);
    return vsetq_lane_s32(vmladavq_s8(last, vldrbq_s8(w + 48)), sum, 3);
}

/* All products of a row of x, or of two, with four of w, whose last block is filled up. */
static inline void ek_mve_sums_2x4(const int8_t *x, const int8_t *u, const int8_t *w, const int32_t inputs,
    const int32_t two, int32x4_t *sum0, int32x4_t *sum1)
{
    const int32_t whole = inputs / 16, rest = inputs % 16;
    const int8_t *const last = w + 64 * whole;
    *sum0 = *sum1 = vdupq_n_s32(0);
    if (whole > 0 && two)
        ek_mve_dot_2x4(x, u, w, whole, sum0, sum1);
    else if (whole > 0)
        *sum0 = ek_mve_dot_1x4(x, w, whole);
    if (rest > 0)
        *sum0 = vaddq_s32(*sum0, ek_mve_tail_1x4(x + 16 * whole, last, rest));
    if (rest > 0 && two)
        *sum1 = vaddq_s32(*sum1, ek_mve_tail_1x4(u + 16 * whole, last, rest));
}

/* Adds 16 products each of x and x' with 32 weights to four vectors of sums: numbers 0, 4, 8, 12 to the first; 2, 6, 10,
 * 14 to the second; 1, 5, 9, 13 to the third; 3, 7, 11, 15 to the fourth. Two products fit into 16 bits. With the four
 * sums live there are four registers, so x' is read twice; compilers would store and load more than that.
 * %q[even] and %q[odd] are the products of even and of odd numbers in 16 bits, %q[cell] numbers of x or x', then what
 * is added, %q[weights] weights. */
static inline void ek_mve_two_x16(const int8_t *x, const int8_t *u, const int8_t *w, int32x4_t *s0,
    int32x4_t *s1, int32x4_t *s2, int32x4_t *s3)
{
    int8x16_t even, odd, cell, weights;
    __asm volatile("vldrb.u8 %q[cell], [%[x]]\n vldrb.u8 %q[weights], [%[w]]\n"
                   "vmullb.s8 %q[even], %q[cell], %q[weights]\n vmullt.s8 %q[odd], %q[cell], %q[weights]\n"
                   "vldrb.u8 %q[cell], [%[u]]\n vldrb.u8 %q[weights], [%[w], #16]\n"
                   "vmullb.s8 %q[cell], %q[cell], %q[weights]\n vadd.i16 %q[even], %q[even], %q[cell]\n"
                   "vldrb.u8 %q[cell], [%[u]]\n vmullt.s8 %q[cell], %q[cell], %q[weights]\n"
                   "vadd.i16 %q[odd], %q[odd], %q[cell]\n"
                   "vmovlb.s16 %q[cell], %q[even]\n vmovlt.s16 %q[even], %q[even]\n"
                   "vadd.i32 %q[s0], %q[s0], %q[cell]\n vadd.i32 %q[s1], %q[s1], %q[even]\n"
                   "vmovlb.s16 %q[cell], %q[odd]\n vmovlt.s16 %q[odd], %q[odd]\n"
                   "vadd.i32 %q[s2], %q[s2], %q[cell]\n vadd.i32 %q[s3], %q[s3], %q[odd]\n"
        : [s0] "+w"(*s0), [s1] "+w"(*s1), [s2] "+w"(*s2), [s3] "+w"(*s3), [even] "=&w"(even),
        [odd] "=&w"(odd), [cell] "=&w"(cell), [weights] "=&w"(weights)
        : [x] "r"(x), [u] "r"(u), [w] "r"(w)
        : "memory");
}

/* The same of x alone, the first `count` numbers of it, which are all that is read. */
static inline void ek_mve_one_x16(const int8_t *x, const int8_t *w, int32_t count, int32x4_t *s0,
    int32x4_t *s1, int32x4_t *s2, int32x4_t *s3)
{
    const int8x16_t cell = count < 16 ? vldrbq_z_s8(x, vctp8q((uint32_t)count)) : vldrbq_s8(x);
    const int16x8_t even = vmullbq_int_s8(cell, vldrbq_s8(w)), odd = vmulltq_int_s8(cell, vldrbq_s8(w));
    *s0 = vaddq_s32(*s0, vmovlbq_s16(even));
    *s1 = vaddq_s32(*s1, vmovltq_s16(even));
    *s2 = vaddq_s32(*s2, vmovlbq_s16(odd));
    *s3 = vaddq_s32(*s3, vmovltq_s16(odd));
}

/* The first `count` of four results, 1 to 4, as int8. */
static inline void ek_mve_store_x4(
    int8_t *y, int32x4_t v, int32_t zero, int32_t lo, int32_t hi, int32_t count)
{
    v = vaddq_n_s32(v, zero);
    v = vminq_s32(vmaxq_s32(v, vdupq_n_s32(lo)), vdupq_n_s32(hi));
    if (count >= 4)
        vstrbq_s32(y, v);
    else
        vstrbq_p_s32(y, v, vctp32q((uint32_t)count));
}

/* The same as int8 or int16, by their bytes. */
static inline void ek_mve_store_numbers(
    void *y, int32x4_t v, int32_t zero, int32_t lo, int32_t hi, int32_t count, const uint32_t bytes)
{
    if (bytes == 1)
        ek_mve_store_x4((int8_t *)y, v, zero, lo, hi, count);
    else {
        v = vminq_s32(vmaxq_s32(vaddq_n_s32(v, zero), vdupq_n_s32(lo)), vdupq_n_s32(hi));
        vstrhq_p_s32((int16_t *)y, v, vctp32q((uint32_t)count));
    }
}

/* The nearest int8 to some of four numbers. */
static inline void ek_mve_store_nearest(int8_t *y, int32x4_t v, mve_pred16_t lanes)
{
    vstrbq_p_s32(y, vminq_s32(vmaxq_s32(v, vdupq_n_s32(-128)), vdupq_n_s32(127)), lanes);
}

#endif
