/* Powers with the scalar FPU of Cortex-M4, M7 and M33, of two numbers side by side: a whole part n, a polynomial in the
 * rest r, and n is added to its exponent. Products are rounded before they are added (VMLA), as on other processors. */
#ifndef EDGEKIT_EXP2_VFP_H
#define EDGEKIT_EXP2_VFP_H

/* FPUs of Cortex-M with float64 have FPv5. */
#if defined(__ARM_FEATURE_NUMERIC_MAXMIN) || (__ARM_FP & 8)
#define EK_VFP_IS_FPV5 1
#else
#define EK_VFP_IS_FPV5 0
#endif

/* Added to a number, it leaves n in the lowest bits. */
#define EK_EXP2_ROUNDS 12582912.0f

/* The coefficients of ek_exp2_poly_f32, for both numbers. */
#define EK_EXP2_TERMS                                                                                        \
    0.00015366725f, 0.00015366725f, 0.00133926398f, 0.00133926398f, 0.00961842574f, 0.00961842574f,          \
        0.0555035844f, 0.0555035844f, 0.240226477f, 0.240226477f, 0.693147182f, 0.693147182f, 1.0f, 1.0f

/* Those of 1 + r (1 + r ek_exp_poly_f32(r)), for both numbers. */
#define EK_EXP_TERMS                                                                                         \
    0.00138327607f, 0.00138327607f, 0.00836919621f, 0.00836919621f, 0.0416681953f, 0.0416681953f,            \
        0.166665226f, 0.166665226f, 0.49999994f, 0.49999994f, 1.0f, 1.0f, 1.0f, 1.0f

/* The whole numbers nearest to x and other, as floats n m and in the lowest bits of i j; rounds holds EK_EXP2_ROUNDS. */
#define EK_WHOLE_PAIR(x, other, n, m, rounds, i, j)                                                          \
    "vadd.f32 " #n ", " #x ", " #rounds "\n"                                                                 \
    "vadd.f32 " #m ", " #other ", " #rounds "\n"                                                             \
    "vmov " #i ", " #j ", " #n ", " #m "\n"                                                                  \
    "vsub.f32 " #n ", " #n ", " #rounds "\n"                                                                 \
    "vsub.f32 " #m ", " #m ", " #rounds "\n"

/* The bits of 2^i and 2^j times the polynomials in x and other, in e and f. s4-s17 are lost, which hold the polynomials.
 * Their coefficients are where terms points. */
#define EK_POWER_PAIR(x, other, terms, i, j, e, f)                                                           \
    "vldm " #terms ", {s4-s17}\n"                                                                            \
    "vmla.f32 s6, s4, " #x "\n"                                                                              \
    "vmla.f32 s7, s5, " #other "\n"                                                                          \
    "vmla.f32 s8, s6, " #x "\n"                                                                              \
    "vmla.f32 s9, s7, " #other "\n"                                                                          \
    "vmla.f32 s10, s8, " #x "\n"                                                                             \
    "vmla.f32 s11, s9, " #other "\n"                                                                         \
    "vmla.f32 s12, s10, " #x "\n"                                                                            \
    "vmla.f32 s13, s11, " #other "\n"                                                                        \
    "vmla.f32 s14, s12, " #x "\n"                                                                            \
    "vmla.f32 s15, s13, " #other "\n"                                                                        \
    "vmla.f32 s16, s14, " #x "\n"                                                                            \
    "vmla.f32 s17, s15, " #other "\n"                                                                        \
    "vmov " #e ", " #f ", s16, s17\n"                                                                        \
    "add " #e ", " #e ", " #i ", lsl #23\n"                                                                  \
    "add " #f ", " #f ", " #j ", lsl #23\n"

/* The bits of 2^x and 2^other, in e and f; x, other and s4-s17 are lost. */
#define EK_EXP2_PAIR(x, other, terms, n, m, rounds, i, j, e, f)                                              \
    EK_WHOLE_PAIR(x, other, n, m, rounds, i, j)                                                              \
    "vsub.f32 " #x ", " #x ", " #n "\n"                                                                      \
    "vsub.f32 " #other ", " #other ", " #m "\n" EK_POWER_PAIR(x, other, terms, i, j, e, f)

#endif
