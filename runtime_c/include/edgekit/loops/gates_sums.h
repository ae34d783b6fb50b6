/* The sums of gates, from those of the state: EK_STATE(name) and EK_ONE(name) are those of a set of instructions,
 * whose header includes this text, EK_ROWS the sums that it takes at a time, and EK_WIDTH numbers of a vector. */

/* `count` sums: what the input adds to `more`. */
EK_INLINE void EK_STATE(add_input)(
    const struct ek_gates *g, const int16_t *x, const EK_ONE(ints) more, int16_t *sum, const int32_t count)
{
    const EK_ONE(ints) own = EK_ONE(scaled)(EK_ONE(s16)(x, count), g->x_m, g->x_shift);
    EK_ONE(store_s16)(sum, EK_ONE(bounded)(EK_ONE(add)(own, more), -32767, 32767), count);
}

/* `left` sums of gate k from `first` on. */
EK_INLINE void EK_STATE(rows)(const struct ek_gates *g, const int16_t *x, const int8_t *h, const int32_t k,
    const int32_t first, const int32_t left, int16_t *sum)
{
    int32_t more[EK_ROWS], i = 0;
    EK_STATE(sums)(g, h, k, first, left, more);
    for (; i + EK_WIDTH <= left; i += EK_WIDTH)
        EK_STATE(add_input)(g, x + i, EK_ONE(load)(more + i), sum + i, EK_WIDTH);
    if (i < left)
        EK_STATE(add_input)(g, x + i, EK_ONE(load)(more + i), sum + i, left - i);
}

/* The sums of gate k of what the input x and the state h add to them. */
EK_INLINE void EK_STATE(gate)(
    const struct ek_gates *g, const int16_t *x, const int8_t *h, const int32_t k, int16_t *sum)
{
    const int32_t size = g->size, at = k * size;
    int32_t o = 0;
    for (; o + EK_ROWS <= size; o += EK_ROWS)
        EK_STATE(rows)(g, x + at + o, h, k, o, EK_ROWS, sum + at + o);
    if (o < size)
        EK_STATE(rows)(g, x + at + o, h, k, o, size - o, sum + at + o);
}
