/* Fully connected layers of rows that were quantized in this run, with Helium: four outputs of one row, or of two.
 *
 * Weights of 8 bits lie in blocks of 16 inputs, one output after the other. Those of 4 bits lie in blocks of 32, of which
 * the lower halves of the bytes have the first 16: both halves are read as the higher ones, 16 times too much.
 *
 * Vectors of floats have no subnormal numbers. With scales of 16 bits, sums that are scaled are multiples of 2^-24, so that
 * vectors are exact; with others, numbers are scaled one by one, as products with the scale of the row always are. VMLA
 * rounds the product, too.
 * stack 160 */
#ifndef EDGEKIT_DYNAMIC_ROWS_MVE_H
#define EDGEKIT_DYNAMIC_ROWS_MVE_H

#include "edgekit/simd/cortex_m/assembly.h"
#include "edgekit/simd/cortex_m/clamp_each.h"
#include "edgekit/simd/cortex_m/mve.h"
#include "edgekit/types.h"

struct ek_mve_rows {
    const void *w;
    const void *scale;
    const float *b;
    float *y0;
    float *y1;
    const int8_t *x0;
    const int8_t *x1;
    int32_t blocks; /* of a row: whole groups */
    int32_t group; /* blocks of a group */
    int32_t outputs;
    float s0; /* of the rows */
    float s1;
};
EK_ASSEMBLY_OFFSETS(struct ek_mve_rows, 0, w, scale, b, y0);
EK_ASSEMBLY_OFFSETS(struct ek_mve_rows, 16, y1, x0, x1, blocks);
EK_ASSEMBLY_OFFSETS(struct ek_mve_rows, 32, group, outputs, s0, s1);

/* A row as whole blocks: where it is, or a copy with zeros behind it. */
static inline const int8_t *ek_mve_whole_row(const int8_t *x, int32_t inputs, int32_t whole, int8_t *copy)
{
    if (inputs == whole)
        return x;
    ek_mve_copy(copy, x, inputs);
    ek_mve_fill(copy + inputs, 0, whole - inputs);
    return copy;
}

/* Inputs of a block. */
enum {
    ek_s8f32x4_block = 16,
    ek_s8f16x4_block = 16,
    ek_s8bf16x4_block = 16,
    ek_s4f32x4_block = 32,
    ek_s4f16x4_block = 32,
    ek_s4bf16x4_block = 32
};

/* A block of one row: q0 and q1 its numbers, q2 weights, q3 the others, q7 masks higher halves. */
#define EK_MVE_ROW_BYTES_OF(sum, v) "vldrb.u8 " #v ",[r5],#16\nvmladava.s8 " #sum ",q0," #v "\n"
#define EK_MVE_ROW_BYTES                                                                                     \
    "vldrb.u8 q0,[r1],#16\n" EK_MVE_ROW_BYTES_OF(r0, q2) EK_MVE_ROW_BYTES_OF(r2, q3)                         \
        EK_MVE_ROW_BYTES_OF(r4, q2) EK_MVE_ROW_BYTES_OF(r6, q3)
#define EK_MVE_ROW_NIBBLES_OF(sum)                                                                           \
    "vldrb.u8 q2,[r5],#16\n"                                                                                 \
    "vshl.i8 q3,q2,#4\n"                                                                                     \
    "vand q2,q2,q7\n"                                                                                        \
    "vmladava.s8 " #sum ",q0,q3\n"                                                                           \
    "vmladava.s8 " #sum ",q1,q2\n"
#define EK_MVE_ROW_NIBBLES                                                                                   \
    "vldrb.u8 q0,[r1],#16\n"                                                                                 \
    "vldrb.u8 q1,[r1],#16\n" EK_MVE_ROW_NIBBLES_OF(r0) EK_MVE_ROW_NIBBLES_OF(r2) EK_MVE_ROW_NIBBLES_OF(r4)   \
        EK_MVE_ROW_NIBBLES_OF(r6)

/* A block of two rows: q0 and q1, q2 and q3 their numbers, q4 weights, q6 the others. */
#define EK_MVE_TWO_BYTES_OF(sum, other)                                                                      \
    "vldrb.u8 q4,[r5],#16\n"                                                                                 \
    "vmladava.s8 " #sum ",q0,q4\n"                                                                           \
    "vmladava.s8 " #other ",q2,q4\n"
#define EK_MVE_TWO_BYTES                                                                                     \
    "vldrb.u8 q0,[r1],#16\n"                                                                                 \
    "vldrb.u8 q2,[r3],#16\n" EK_MVE_TWO_BYTES_OF(r0, r8) EK_MVE_TWO_BYTES_OF(r2, r10)                        \
        EK_MVE_TWO_BYTES_OF(r4, r12) EK_MVE_TWO_BYTES_OF(r6, lr)
#define EK_MVE_TWO_NIBBLES_OF(sum, other)                                                                    \
    "vldrb.u8 q4,[r5],#16\n"                                                                                 \
    "vshl.i8 q6,q4,#4\n"                                                                                     \
    "vand q4,q4,q7\n"                                                                                        \
    "vmladava.s8 " #sum ",q0,q6\n"                                                                           \
    "vmladava.s8 " #other ",q2,q6\n"                                                                         \
    "vmladava.s8 " #sum ",q1,q4\n"                                                                           \
    "vmladava.s8 " #other ",q3,q4\n"
#define EK_MVE_TWO_NIBBLES                                                                                   \
    "vldrb.u8 q0,[r1],#16\n"                                                                                 \
    "vldrb.u8 q1,[r1],#16\n"                                                                                 \
    "vldrb.u8 q2,[r3],#16\n"                                                                                 \
    "vldrb.u8 q3,[r3],#16\n" EK_MVE_TWO_NIBBLES_OF(r0, r8) EK_MVE_TWO_NIBBLES_OF(r2, r10)                    \
        EK_MVE_TWO_NIBBLES_OF(r4, r12) EK_MVE_TWO_NIBBLES_OF(r6, lr)

/* The scales of four outputs, q1 = s4-s7, from a pointer on. The number is vcvtb.f32.f16 q1,q1, for which GNU's assembler
 * (2.40) takes other registers. */
#define EK_MVE_SCALES_F32(at) "vldrw.32 q1,[" #at "],#16\n"
#define EK_MVE_SCALES_F16(at)                                                                                \
    "vldrh.u32 q1,[" #at "],#8\n"                                                                            \
    ".inst.w 0xFE3F2E03\n"
#define EK_MVE_SCALES_BF16(at)                                                                               \
    "vldrh.u32 q1,[" #at "],#8\n"                                                                            \
    "vshl.i32 q1,q1,#16\n"

/* Four sums into q0 = s0-s3, times their scales, added to the totals of a row: q, of which a to d are the numbers. */
#define EK_MVE_SUMS(a, b, c, d)                                                                              \
    "vmov q0[2],q0[0]," #a "," #c "\n"                                                                       \
    "vmov q0[3],q0[1]," #b "," #d "\n"
#define EK_MVE_FRACTION_BYTES
#define EK_MVE_FRACTION_NIBBLES ",#4"
#define EK_MVE_TOTAL_F16(WEIGHTS, q, a, b, c, d)                                                             \
    "vcvt.f32.s32 q0,q0" EK_MVE_FRACTION_##WEIGHTS "\n"                                                      \
                                                   "vmul.f32 q0,q0,q1\n"                                     \
                                                   "vadd.f32 " #q "," #q ",q0\n"
#define EK_MVE_TOTAL_F32(WEIGHTS, q, a, b, c, d)                                                             \
    "vcvt.f32.s32 q0,q0" EK_MVE_FRACTION_##WEIGHTS "\n"                                                      \
                                                   "vmla.f32 " #a ",s0,s4\n"                                 \
                                                   "vmla.f32 " #b ",s1,s5\n"                                 \
                                                   "vmla.f32 " #c ",s2,s6\n"                                 \
                                                   "vmla.f32 " #d ",s3,s7\n"
#define EK_MVE_TOTAL_BF16(WEIGHTS, q, a, b, c, d) EK_MVE_TOTAL_F32(WEIGHTS, q, a, b, c, d)

/* Four results, s0-s3: the totals times the scale of the row, which is in s24, more than biases. */
#define EK_MVE_RESULTS(a, b, c, d)                                                                           \
    "vmla.f32 s0," #a ",s24\n"                                                                               \
    "vmla.f32 s1," #b ",s24\n"                                                                               \
    "vmla.f32 s2," #c ",s24\n"                                                                               \
    "vmla.f32 s3," #d ",s24\n"

/* clang-format off */
/* One row.
 *
 * Called with  r0 the row
 * Products     r0 r2 r4 r6 sums, r1 x, r5 w, lr blocks of the group; q0-q3 as above, q7 0xF0
 * Around       r3 scale, r7 blocks left, r8 blocks of a group, r9 outputs left, r10 b, r11 y, r12 x, stack blocks of a row
 * Floats       q0 sums, q1 scales, q5 totals, s24 the scale of the row */
#define EK_MVE_ROW(WEIGHTS, SCALES)                                                                          \
    "push {r4-r11,lr}\n"                                                                                     \
    "vpush {d8-d15}\n"                                                                                       \
    "sub sp,#4\n"                                                                                            \
    "mov r7,#0xF0\n"                                                                                         \
    "vdup.8 q7,r7\n"                                                                                         \
    "vldr s24,[r0,#40]\n"                                                                                    \
    "ldrd r8,r9,[r0,#32]\n"                                                                                  \
    "ldrd r10,r11,[r0,#8]\n"                                                                                 \
    "ldr r12,[r0,#20]\n"                                                                                     \
    "ldr r7,[r0,#28]\n"                                                                                      \
    "ldrd r5,r3,[r0]\n"                                                                                      \
    "str r7,[sp]\n"                                                                                          \
    "1:\n" /* four outputs */                                                                                \
        "mov r1,r12\n"                                                                                       \
        "ldr r7,[sp]\n"                                                                                      \
        "vmov.i32 q5,#0\n"                                                                                   \
        "3:\n" /* a group */                                                                                 \
            "clrm {r0,r2,r4,r6}\n"                                                                           \
            "dls lr,r8\n"                                                                                    \
            "2:\n"                                                                                           \
                EK_MVE_ROW_##WEIGHTS                                                                         \
                "le lr,2b\n"                                                                                 \
            EK_MVE_SUMS(r0, r2, r4, r6)                                                                      \
            EK_MVE_SCALES_##SCALES(r3)                                                                       \
            EK_MVE_TOTAL_##SCALES(WEIGHTS, q5, s20, s21, s22, s23)                                           \
            "subs r7,r7,r8\n"                                                                                \
            "bne 3b\n"                                                                                       \
        "vldrw.32 q0,[r10],#16\n"                                                                            \
        EK_MVE_RESULTS(s20, s21, s22, s23)                                                                   \
        "subs r9,r9,#4\n"                                                                                    \
        "blt 5f\n"                                                                                           \
        "vstrw.32 q0,[r11],#16\n"                                                                            \
        "bne 1b\n"                                                                                           \
    "b 4f\n"                                                                                                 \
    "5:\n" /* less than four outputs */                                                                      \
        "add r9,r9,#4\n"                                                                                     \
        "vctp.32 r9\n"                                                                                       \
        "vpst\n"                                                                                             \
        "vstrwt.32 q0,[r11]\n"                                                                               \
    "4:\n"                                                                                                   \
    "add sp,#4\n"                                                                                            \
    "vpop {d8-d15}\n"                                                                                        \
    "pop {r4-r11,pc}\n"

/* Two rows.
 *
 * Called with  r0 the rows
 * Stack        0 blocks of a row, 4 of a group, 8 outputs left, 12 b, 16 y0, 20 y1, 24 x0, 28 x1, 32 totals of the other
 *              row, 48 scales of the rows
 * Products     r0 r2 r4 r6 and r8 r10 r12 lr sums, r1 r3 x, r5 w, r9 blocks of the group; q0-q4 and q6 as above, q7 0xF0
 * Around       r7 scale, r11 blocks left
 * Floats       q0 sums, q1 scales, q5 totals, q4 those of the other row, s24 the scale of a row */
#define EK_MVE_TWO_ROWS(WEIGHTS, SCALES)                                                                     \
    "push {r4-r11,lr}\n"                                                                                     \
    "vpush {d8-d15}\n"                                                                                       \
    "sub sp,#60\n"                                                                                           \
    "ldrd r5,r7,[r0]\n"                                                                                      \
    "ldrd r1,r2,[r0,#28]\n"                                                                                  \
    "strd r1,r2,[sp]\n"                                                                                      \
    "ldrd r1,r2,[r0,#36]\n" /* outputs, s0 */                                                                \
    "ldr r3,[r0,#8]\n"                                                                                       \
    "strd r1,r3,[sp,#8]\n"                                                                                   \
    "ldrd r1,r3,[r0,#12]\n"                                                                                  \
    "strd r1,r3,[sp,#16]\n"                                                                                  \
    "ldrd r1,r3,[r0,#20]\n"                                                                                  \
    "strd r1,r3,[sp,#24]\n"                                                                                  \
    "ldr r3,[r0,#44]\n"                                                                                      \
    "strd r2,r3,[sp,#48]\n"                                                                                  \
    "mov r1,#0xF0\n"                                                                                         \
    "vdup.8 q7,r1\n"                                                                                         \
    "1:\n" /* four outputs */                                                                                \
        "ldrd r1,r3,[sp,#24]\n"                                                                              \
        "ldr r11,[sp]\n"                                                                                     \
        "vmov.i32 q5,#0\n"                                                                                   \
        "vstrw.32 q5,[sp,#32]\n"                                                                             \
        "3:\n" /* a group */                                                                                 \
            "ldr r9,[sp,#4]\n"                                                                               \
            "clrm {r0,r2,r4,r6,r8,r10,r12,lr}\n"                                                             \
            "sub r11,r11,r9\n"                                                                               \
            "2:\n"                                                                                           \
                EK_MVE_TWO_##WEIGHTS                                                                         \
                "subs r9,#1\n"                                                                               \
                "bne 2b\n"                                                                                   \
            EK_MVE_SUMS(r0, r2, r4, r6)                                                                      \
            EK_MVE_SCALES_##SCALES(r7)                                                                       \
            EK_MVE_TOTAL_##SCALES(WEIGHTS, q5, s20, s21, s22, s23)                                           \
            "vldrw.32 q4,[sp,#32]\n"                                                                         \
            EK_MVE_SUMS(r8, r10, r12, lr)                                                                    \
            EK_MVE_TOTAL_##SCALES(WEIGHTS, q4, s16, s17, s18, s19)                                           \
            "cmp r11,#0\n"                                                                                   \
            "vstrw.32 q4,[sp,#32]\n"                                                                         \
            "bne 3b\n"                                                                                       \
        "ldrd r2,r0,[sp,#8]\n"                                                                               \
        "ldrd r4,r6,[sp,#16]\n"                                                                              \
        "vldr s24,[sp,#48]\n"                                                                                \
        "vldrw.32 q0,[r0]\n"                                                                                 \
        EK_MVE_RESULTS(s20, s21, s22, s23)                                                                   \
        "subs r2,#4\n"                                                                                       \
        "vmov q1,q0\n"                                                                                       \
        "vldr s24,[sp,#52]\n"                                                                                \
        "vldrw.32 q0,[r0],#16\n"                                                                             \
        EK_MVE_RESULTS(s16, s17, s18, s19)                                                                   \
        "blt 5f\n"                                                                                           \
        "vstrw.32 q1,[r4],#16\n"                                                                             \
        "vstrw.32 q0,[r6],#16\n"                                                                             \
        "strd r2,r0,[sp,#8]\n"                                                                               \
        "strd r4,r6,[sp,#16]\n"                                                                              \
        "bne 1b\n"                                                                                           \
    "b 4f\n"                                                                                                 \
    "5:\n" /* less than four outputs */                                                                      \
        "add r2,#4\n"                                                                                        \
        "vctp.32 r2\n"                                                                                       \
        "vpstt\n"                                                                                            \
        "vstrwt.32 q1,[r4]\n"                                                                                \
        "vstrwt.32 q0,[r6]\n"                                                                                \
    "4:\n"                                                                                                   \
    "add sp,#60\n"                                                                                           \
    "vpop {d8-d15}\n"                                                                                        \
    "pop {r4-r11,pc}\n"
/* clang-format on */

#define EK_MVE_DYNAMIC_ROWS(KIND, WEIGHTS, SCALES)                                                           \
    static EK_ASSEMBLY void ek_##KIND##_row(const struct ek_mve_rows *row EK_IN_ASSEMBLY)                    \
    {                                                                                                        \
        __asm volatile(EK_MVE_ROW(WEIGHTS, SCALES));                                                         \
    }                                                                                                        \
    static EK_ASSEMBLY void ek_##KIND##_two_rows(const struct ek_mve_rows *rows EK_IN_ASSEMBLY)              \
    {                                                                                                        \
        __asm volatile(EK_MVE_TWO_ROWS(WEIGHTS, SCALES));                                                    \
    }
EK_MVE_DYNAMIC_ROWS(s8f32x4, BYTES, F32)
EK_MVE_DYNAMIC_ROWS(s8f16x4, BYTES, F16)
EK_MVE_DYNAMIC_ROWS(s8bf16x4, BYTES, BF16)
EK_MVE_DYNAMIC_ROWS(s4f32x4, NIBBLES, F32)
EK_MVE_DYNAMIC_ROWS(s4f16x4, NIBBLES, F16)
EK_MVE_DYNAMIC_ROWS(s4bf16x4, NIBBLES, BF16)

#endif
