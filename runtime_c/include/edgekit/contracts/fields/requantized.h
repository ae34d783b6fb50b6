/* How a sum becomes a result of int8. */
int32_t multiplier;
int32_t exponent;
int32_t zero;
int32_t lo;
int32_t hi;
