/* The float32 math of the runtime: no libm, no errno, no large tables; the same bits from every compiler.
 *
 * Each function states its error in units of the last place (ULP): a little more than the largest that a
 * comparison with double arithmetic found, over all floats from 2^-27 to 2^10 and many of the others.
 *
 * The same bits come under IEEE arithmetic with -ffp-contract=off. With contraction to FMA, which is usual on
 * ARM, they may differ, but errors stay below 2 ULP. Not for -ffast-math, nor for x87.
 * With -fno-math-errno the square root is one instruction where the machine has it.
 */
#ifndef EDGEKIT_MATH_F32_H
#define EDGEKIT_MATH_F32_H

#include "edgekit/math/math_exp_f32.h"
#include "edgekit/math/math_log_f32.h"
#include "edgekit/math/math_pow_f32.h"
#include "edgekit/math/math_round_f32.h"
#include "edgekit/math/math_trig_f32.h"

#endif
