/* What gates do with sums, in vectors: EK_ONE(name) is that of a set of instructions, whose header includes this
 * text. */

/* Numbers of 16 bits times m / 2^shift, m < 2^15, 1 <= shift <= 30. */
EK_INLINE EK_ONE(ints) EK_ONE(scaled)(const EK_ONE(ints) x, const int32_t m, const int32_t shift)
{
    const EK_ONE(ints) half = EK_ONE(same)(1 << (shift - 1));
    return EK_ONE(shifted)(EK_ONE(add)(EK_ONE(times)(x, EK_ONE(same)(m)), half), shift);
}

/* y / 2^15, rounded. */
EK_INLINE EK_ONE(ints) EK_ONE(of_q15)(const EK_ONE(ints) y)
{
    return EK_ONE(shifted)(EK_ONE(add)(y, EK_ONE(same)(1 << 14)), 15);
}

/* tanh of sums. */
EK_INLINE EK_ONE(ints) EK_ONE(tanh)(const EK_ONE(ints) x, const int16_t *table)
{
    const EK_ONE(ints) y = EK_ONE(between)(table, EK_ONE(magnitude)(x), 7);
    return EK_ONE(signed)(EK_ONE(shifted)(EK_ONE(add)(y, EK_ONE(same)(64)), 7), x);
}

/* (1 + tanh(x / 2)) / 2 of sums. */
EK_INLINE EK_ONE(ints) EK_ONE(sigmoid)(const EK_ONE(ints) x, const int16_t *table)
{
    const EK_ONE(ints) y = EK_ONE(between)(table, EK_ONE(magnitude)(x), 8);
    const EK_ONE(ints) half = EK_ONE(shifted)(EK_ONE(add)(y, EK_ONE(same)(256)), 9);
    return EK_ONE(add)(EK_ONE(same)(1 << 14), EK_ONE(signed)(half, x));
}

/* Numbers of 16 bits, so many of them before the point, as sums. */
EK_INLINE EK_ONE(ints) EK_ONE(as_sum)(const EK_ONE(ints) c, const int32_t bits)
{
    const int32_t up = bits > 3 ? bits - 3 : 0, down = bits < 3 ? 3 - bits : 0;
    const EK_ONE(ints) wide = EK_ONE(times)(c, EK_ONE(same)(1 << up));
    const EK_ONE(ints) half = EK_ONE(same)((1 << down) >> 1);
    return EK_ONE(bounded)(EK_ONE(shifted)(EK_ONE(add)(wide, half), down), -32767, 32767);
}

/* Numbers of 16 bits as int8 of this rule. */
EK_INLINE EK_ONE(ints)
    EK_ONE(narrowed)(const EK_ONE(ints) y, const int32_t m, const int32_t shift, const int32_t zero)
{
    return EK_ONE(bounded)(EK_ONE(add)(EK_ONE(same)(zero), EK_ONE(scaled)(y, m, shift)), -128, 127);
}
