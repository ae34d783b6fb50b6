/* Products of two matrices of int8 that are both known at run time only, EK_WIDE(name) being that of a width, whose header
 * includes this text. The right matrix is packed as weights of layers are, rows of the left one are the pixels of a line.
 * With u for a as it is copied, `excess` more, and a_zero and b_zero those of a and b,
 *   sum of (a - a_zero) (b - b_zero) = sum of u b - (a_zero + excess) sum of b - b_zero (sum of u - inner (a_zero + excess)):
 * biases are the second term, and each row of the copy has the third behind it, where b_zero is not 0. */

struct EK_WIDE(product) {
    int32_t rows;
    int32_t inner;
    int32_t columns;
    int32_t a_row;
    int32_t a_zero;
    int32_t b_zero;
    int32_t kind; /* of the rule */
    int32_t multiplier;
    int32_t exponent;
    int32_t zero;
    int32_t lo;
    int32_t hi;
};

/* Steps of a sum, each of four bytes of the copy. */
EK_INLINE int32_t EK_WIDE(steps)(const int32_t inner)
{
    return (inner + EK_TAPS - 1) / EK_TAPS;
}

/* `count` of the first EK_LANES bytes, zeros behind them. */
EK_PART __m128i EK_WIDE(some)(const int8_t *b, const int32_t count)
{
    int8_t all[16] = {0};
    if (count >= EK_LANES)
        return EK_LANES == 16 ? _mm_loadu_si128((const __m128i *)(const void *)b)
                              : _mm_loadl_epi64((const __m128i *)(const void *)b);
    for (int32_t i = 0; i < count; i++)
        all[i] = b[i];
    return _mm_loadu_si128((const __m128i *)(const void *)all);
}

/* Packs b, of which rows are `step` apart, and columns lie side by side. */
EK_INLINE void EK_WIDE(pack_rows)(
    const int8_t *b, int8_t *w, const int32_t step, const int32_t inner, const int32_t columns)
{
    const __m128i none = _mm_setzero_si128();
    for (int32_t j = 0; j < columns; j += EK_LANES)
        for (int32_t k = 0; k < inner; k += EK_TAPS, w += EK_LANES * EK_TAPS) {
            const int8_t *const from = b + k * step + j;
            const int32_t count = columns - j;
            __m128i *const to = (__m128i *)(void *)w;
            __m128i r[4];
            EK_UNROLLED_FOR(4, int32_t t = 0; t < 4; t++)
                r[t] = t < EK_TAPS && k + t < inner ? EK_WIDE(some)(from + t * step, count) : none;
            const __m128i first = _mm_unpacklo_epi8(r[0], r[1]), second = _mm_unpacklo_epi8(r[2], r[3]);
            if (EK_TAPS == 2) {
                _mm_storeu_si128(to, first);
                continue;
            }
            _mm_storeu_si128(to, _mm_unpacklo_epi16(first, second));
            _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(first, second));
            if (EK_LANES == 16) {
                const __m128i third = _mm_unpackhi_epi8(r[0], r[1]), last = _mm_unpackhi_epi8(r[2], r[3]);
                _mm_storeu_si128(to + 2, _mm_unpacklo_epi16(third, last));
                _mm_storeu_si128(to + 3, _mm_unpackhi_epi16(third, last));
            }
        }
}

/* Packs b, of which columns are `step` apart, and rows lie side by side. */
EK_INLINE void EK_WIDE(pack_columns)(
    const int8_t *b, int8_t *w, const int32_t step, const int32_t inner, const int32_t columns)
{
    const int32_t block = EK_WIDE(steps)(inner) * EK_LANES * EK_TAPS, rest = inner % EK_TAPS;
    const int32_t padded = (columns + EK_LANES - 1) / EK_LANES * EK_LANES;
    for (int32_t j = 0; j < padded; j++) {
        const int8_t *from = b + j * step;
        int8_t *to = w + j / EK_LANES * block + j % EK_LANES * EK_TAPS;
        int32_t k = 0;
        if (j < columns)
            for (; k + EK_TAPS <= inner; k += EK_TAPS, from += EK_TAPS, to += EK_LANES * EK_TAPS)
                __builtin_memcpy(to, from, EK_TAPS);
        for (; k < inner; k += EK_TAPS, to += EK_LANES * EK_TAPS)
            for (int32_t t = 0; t < EK_TAPS; t++)
                to[t] = j < columns && t < rest ? from[t] : (int8_t)0;
    }
}

/* Multiplies a by what is packed at the beginning of `room`. */
EK_INLINE void EK_WIDE(multiply)(const int8_t *a, int8_t *y, uint8_t *room, const struct EK_WIDE(product) * p)
{
    const int32_t excess = EK_TAPS == 4 ? 128 : 0, a_zero = p->a_zero + excess;
    const int32_t padded = (p->columns + EK_LANES - 1) / EK_LANES * EK_LANES,
                  steps = EK_WIDE(steps)(p->inner);
    const int8_t *const w = (const int8_t *)room;
    int32_t *const bias = (int32_t *)(void *)(room + padded * steps * EK_TAPS), *const m = bias + padded;
    int8_t *const e = (int8_t *)(m + padded);
    uint8_t *const rows = (uint8_t *)e + padded;
    const int32_t row = 4 * steps + 4;
    const struct EK_WIDE(layer)
        s = {1, steps, 0, p->columns, p->kind, p->zero, p->lo, p->hi, w, bias, m, e, 0, 1};
    for (int32_t j = 0; j < padded; j += EK_LANES) {
        EK_WIDE(ints) sum = EK_WIDE(same)(0);
        for (int32_t c = 0; c < steps; c++)
            sum = EK_WIDE(dot)(sum, EK_WIDE(same)(EK_TAPS == 4 ? 0x01010101 : 0x00010001),
                EK_WIDE(weights)(w + (j * steps + c * EK_LANES) * EK_TAPS));
        sum = EK_WIDE(times)(sum, EK_WIDE(same)(-a_zero));
        __builtin_memcpy(bias + j, &sum, sizeof sum);
    }
    for (int32_t j = 0; j < padded; j++) {
        m[j] = p->multiplier;
        e[j] = (int8_t)p->exponent;
    }
    for (int32_t i = 0; i < p->rows; i++) {
        const int8_t *const from = a + i * p->a_row;
        int32_t term = 0;
        EK_WIDE(copy)(from, rows + i * row, p->inner);
        if (p->b_zero != 0)
            for (int32_t k = 0; k < p->inner; k++)
                term += from[k] - p->a_zero;
        term *= -p->b_zero;
        __builtin_memcpy(rows + i * row + 4 * steps, &term, 4);
    }
    EK_WIDE(lines_from)(rows, y, 1, 0, row, p->rows, p->b_zero == 0 ? 0 : 4 * steps, &s);
}
