/* Minimax polynomials of the f64 math functions. Written by scripts/fit_math.py; do not edit. */
#ifndef EDGEKIT_MATH_POLY_F64_H
#define EDGEKIT_MATH_POLY_F64_H

#include <stdint.h>



#endif
