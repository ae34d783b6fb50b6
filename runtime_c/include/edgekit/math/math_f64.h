/* The float64 math of the runtime: no libm, no errno; errors below 4 ULP. Compact rather than fast. */
#ifndef EDGEKIT_MATH_F64_H
#define EDGEKIT_MATH_F64_H

#include "edgekit/math/math_exp_f64.h"
#include "edgekit/math/math_log_f64.h"
#include "edgekit/math/math_round_f64.h"
#include "edgekit/math/math_trig_f64.h"

#endif
