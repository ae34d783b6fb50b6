/* Minimax polynomials of the f64 math. Fitted by a script; do not edit. */
#ifndef EDGEKIT_MATH_POLY_F64_H
#define EDGEKIT_MATH_POLY_F64_H

#include <stdint.h>

/* exp(r) = 1 + r + r^2 p(r) for -0.3466 <= r <= 0.3466; error 2^-57.42 */
static inline double ek_exp_poly_f64(double r)
{
    double p = 2.499600965697976e-08;
    p = p * r + 2.7630207372194927e-07;
    p = p * r + 2.7557588843892602e-06;
    p = p * r + 2.4801493383673887e-05;
    p = p * r + 0.00019841269522040135;
    p = p * r + 0.001388888894332184;
    p = p * r + 0.008333333333474054;
    p = p * r + 0.04166666666653023;
    p = p * r + 0.16666666666666477;
    return p * r + 0.5000000000000011;
}

/* log((1 + s) / (1 - s)) = 2 s + s z (2/3 + z p(z)), z = s^2 for 8.674e-19 <= z <= 0.02945; error 2^-66.29 */
static inline double ek_log_poly_f64(double z)
{
    double p = 0.13196585111084186;
    p = p * z + 0.13256794087877682;
    p = p * z + 0.1538675816631105;
    p = p * z + 0.18181784353181774;
    p = p * z + 0.22222222520030963;
    p = p * z + 0.2857142857009928;
    return p * z + 0.40000000000002256;
}

/* erf(x) = x + x p(z), z = x^2 for 8.674e-19 <= z <= 0.81; error 2^-56.31 */
static inline double ek_erf_poly_f64(double z)
{
    double p = 1.2246425421700556e-09;
    p = p * z - 6.829867516399055e-09;
    p = p * z + 2.6834774692696383e-08;
    p = p * z - 1.7847031081459253e-07;
    p = p * z + 1.6577761423578093e-06;
    p = p * z - 1.493161612222802e-05;
    p = p * z + 0.00012055538405358947;
    p = p * z - 0.0008548331683846161;
    p = p * z + 0.005223977692543088;
    p = p * z - 0.026866170650839714;
    p = p * z + 0.1128379167098026;
    p = p * z - 0.37612638903184187;
    return p * z + 0.1283791670955126;
}

/* erf(1.55 + t) = 1 - exp(p(t)) for -0.65 <= t <= 0.65; error 2^-57.3 */
static inline double ek_log_erfc_near_poly_f64(double t)
{
    double p = -1.1984236872521912e-09;
    p = p * t + 1.990093315343177e-09;
    p = p * t + 9.618470885950612e-10;
    p = p * t - 2.813155813736329e-08;
    p = p * t + 1.7540577927072612e-07;
    p = p * t - 7.174887350239608e-07;
    p = p * t + 1.987282499643649e-06;
    p = p * t - 1.668161457658262e-06;
    p = p * t - 2.333095516432671e-05;
    p = p * t + 0.00020793607832261373;
    p = p * t - 0.0011936242865742779;
    p = p * t + 0.005700441449295901;
    p = p * t - 0.024653686824702398;
    p = p * t - 0.8964254019371666;
    p = p * t - 3.5982555514081542;
    return p * t - 3.5621669213320044;
}

/* erf(4 + t) = 1 - exp(p(t)) for -1.8 <= t <= 2.0; error 2^-56.69 */
static inline double ek_log_erfc_far_poly_f64(double t)
{
    double p = 8.151955621940046e-09;
    p = p * t - 5.3803186837672216e-08;
    p = p * t + 2.2341621153756813e-07;
    p = p * t - 2.4117923484682594e-06;
    p = p * t + 1.3709851820477646e-05;
    p = p * t - 9.144173146286183e-05;
    p = p * t + 0.0005819112197811036;
    p = p * t - 0.0037932106366074924;
    p = p * t - 0.9734445901502616;
    p = p * t - 8.236376889126012;
    return p * t - 17.987778311560614;
}

/* sin(x) = x + x z p(z), z = x^2 for 8.674e-19 <= z <= 0.617; error 2^-57.89 */
static inline double ek_sin_poly_f64(double z)
{
    double p = 1.5895450586141908e-10;
    p = p * z - 2.505073466767998e-08;
    p = p * z + 2.755731354013195e-06;
    p = p * z - 0.00019841269829362518;
    p = p * z + 0.008333333333321844;
    return p * z - 0.1666666666666663;
}

/* cos(x) = 1 - z/2 + z^2 p(z), z = x^2 for 8.674e-19 <= z <= 0.617; error 2^-63.94 */
static inline double ek_cos_poly_f64(double z)
{
    double p = -1.1358740753196531e-11;
    p = p * z + 2.0875705252830982e-09;
    p = p * z - 2.755731421616101e-07;
    p = p * z + 2.4801587288999775e-05;
    p = p * z - 0.001388888888887334;
    return p * z + 0.041666666666666595;
}

/* asin(x) = x + x z p(z), z = x^2 for 8.674e-19 <= z <= 0.25; error 2^-59.86 */
static inline double ek_asin_poly_f64(double z)
{
    double p = 0.03262855728773556;
    p = p * z - 0.020998737052552535;
    p = p * z + 0.021707036993473018;
    p = p * z + 0.0037066647752948254;
    p = p * z + 0.010780157172070282;
    p = p * z + 0.011398935356391289;
    p = p * z + 0.013980816793481394;
    p = p * z + 0.017351612425917668;
    p = p * z + 0.02237221495740366;
    p = p * z + 0.030381942709210807;
    p = p * z + 0.04464285717457158;
    p = p * z + 0.07499999999970859;
    return p * z + 0.1666666666666676;
}

/* atan(x) = x + x z p(z), z = x^2 for 8.674e-19 <= z <= 0.1716; error 2^-59.44 */
static inline double ek_atan_poly_f64(double z)
{
    double p = -0.017908553980086526;
    p = p * z + 0.03806557485273616;
    p = p * z - 0.05039336185191654;
    p = p * z + 0.05847894464686075;
    p = p * z - 0.06663104525368183;
    p = p * z + 0.07692060240177444;
    p = p * z - 0.09090897758713597;
    p = p * z + 0.11111110783516147;
    p = p * z - 0.14285714280199666;
    p = p * z + 0.19999999999953672;
    return p * z - 0.333333333333332;
}

/* 2/pi * 2^-64, 32 bits from bit 32 i on */
static inline uint32_t ek_two_over_pi_word(uint32_t i)
{
    static const uint32_t word[40] = {0x00000000u, 0x00000000u, 0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u,
        0xF534DDC0u, 0xDB629599u, 0x3C439041u, 0xFE5163ABu, 0xDEBBC561u, 0xB7246E3Au, 0x424DD2E0u,
        0x06492EEAu, 0x09D1921Cu, 0xFE1DEB1Cu, 0xB129A73Eu, 0xE88235F5u, 0x2EBB4484u, 0xE99C7026u,
        0xB45F7E41u, 0x3991D639u, 0x835339F4u, 0x9C845F8Bu, 0xBDF9283Bu, 0x1FF897FFu, 0xDE05980Fu,
        0xEF2F118Bu, 0x5A0A6D1Fu, 0x6D367ECFu, 0x27CB09B7u, 0x4F463F66u, 0x9E5FEA2Du, 0x7527BAC7u,
        0xEBE5F17Bu, 0x3D0739F7u, 0x8A5292EAu, 0x6BFB5FB1u, 0x1F8D5D08u, 0x56033046u, 0xFC7B6BABu};
    return word[i];
}

#endif
