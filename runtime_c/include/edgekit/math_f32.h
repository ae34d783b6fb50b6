/* The float32 math of the runtime: no libm, no tables, no errno; the same bits from every compiler.
 *
 * Same bits hold under IEEE arithmetic with -ffp-contract=off (x86 does not contract unless told to use FMA;
 * ARM compilers do by default). With contraction the error bounds still hold. Not for -ffast-math or x87.
 */
#ifndef EDGEKIT_MATH_F32_H
#define EDGEKIT_MATH_F32_H

#include "edgekit/math_exp_f32.h"
#include "edgekit/math_log_f32.h"
#include "edgekit/math_pow_f32.h"
#include "edgekit/math_round_f32.h"
#include "edgekit/math_trig_f32.h"

#endif
