/* The requantization rules by name, for functions that compute any of them: compilers know which one it is. Those of one
 * exponent for all outputs come first, those in floats last. */
#ifndef EDGEKIT_RULE_KINDS_H
#define EDGEKIT_RULE_KINDS_H

enum {
    ek_requantize_e_kind, /* rule E: the product of 64 bits, and one shift that rounds halves up */
    ek_requantize_e_wide_kind, /* the same for large ratios: what leaves 32 bits is saturated */
    ek_requantize_once_kind, /* one rounding, halves away from zero */
    ek_requantize_tfl_kind, /* rule T: the second rounding takes halves away from zero, but where it does not shift */
    ek_requantize_tfl_down_kind, /* the same where every exponent is negative */
    ek_requantize_line_kind, /* nearest(scale sum + offset) in float32, m and e being the bits of scales and of offsets */
    ek_requantize_line_away_kind /* the same, offsets with the sign of the sum */
};

#endif
