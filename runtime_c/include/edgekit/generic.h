/* Stand-ins for the tokens of generic kernels, so that an editor or a linter can read the files as plain C.
 * The code generator replaces the tokens by text and drops the include of this file:
 *   EK_FN               the function          EK_STRUCT          its parameter struct
 *   EK_T                storage type of T     EK_T_ACC           the type that C computes in
 *   EK_LOAD_T(x)        stored -> computed    EK_STORE_T(x)      computed -> stored
 *   EK_AT_T(p, i)       element i of packed ones
 *   EK_PAIR_T(sum)      -t w - t' w' in the narrowest type that holds it, for int8 w and w'
 *   EK_RULE(x4)         ek_requantize_<rule>_x4, in kernels of an instruction set
 *   EK_IF_R(text)       text, where the contract has the operand r (what is added to the result or to scores, scales, zero points); else nothing
 *   EK_TAIL             adds them
 *   EK_MATH_T(exp)(x)   ek_exp_f32(x)         EK_EXPR            formula of an elementwise operator
 * Results have elements, and contractions have products: sizes are 1 or more. What is reduced, scattered, padded or stepped through
 * may be empty (docs/adr/0152).
 */
#ifndef EDGEKIT_GENERIC_H
#define EDGEKIT_GENERIC_H

#include "edgekit/types.h"

#define EK_FN ek_generic
#define EK_STRUCT ek_generic_params
#define EK_EXPR a
#define EK_IF_BIAS(text)
#define EK_IF_R(text)
#define EK_IF_SCALE(text)
#define EK_IF_ZERO(text)
#define EK_MATH_T(name) ek_##name##_f32

#define EK_T float
#define EK_T_ACC float
#define EK_LOAD_T(x) (x)
#define EK_STORE_T(x) (x)
#define EK_I int32_t
#define EK_I_ACC int32_t
#define EK_LOAD_I(x) (x)
#define EK_A float
#define EK_A_ACC float
#define EK_LOAD_A(x) (x)
#define EK_B float
#define EK_B_ACC float
#define EK_LOAD_B(x) (x)
#define EK_C float
#define EK_C_ACC float
#define EK_LOAD_C(x) (x)
#define EK_W float
#define EK_W_ACC float
#define EK_LOAD_W(x) (x)
#define EK_AT_W(p, i) ((p)[i])
#define EK_X int8_t
#define EK_PAIR_X(sum) (sum)
#define EK_S int32_t
#define EK_Z int8_t
#define EK_LOAD_Z(x) (x)
#define EK_AT_Z(p, i) ((p)[i])
#define EK_Y float
#define EK_Y_ACC float
#define EK_STORE_Y(x) (x)

#endif
