/* What vectors of int32 of AVX2 and of AVX-512 have in common: EK_WIDE(name) and EK_MM(name) are those of a width, whose
 * header includes this text. The requantization rules of EdgeKit, with a multiplier and an exponent for each sum; sums have
 * at most 30 bits, their sign apart. */

EK_INLINE EK_WIDE(ints) EK_WIDE(same)(const int32_t x)
{
    return EK_MM(set1_epi32)(x);
}
/* Four bytes of x for all lanes. */
EK_INLINE EK_WIDE(ints) EK_WIDE(spread)(const uint8_t *x)
{
    return EK_MM(set1_epi32)(*(const ek_four_x86 *)(const void *)x);
}
EK_INLINE EK_WIDE(ints) EK_WIDE(add)(const EK_WIDE(ints) a, const EK_WIDE(ints) b)
{
    return EK_MM(add_epi32)(a, b);
}
EK_INLINE EK_WIDE(ints) EK_WIDE(times)(const EK_WIDE(ints) a, const EK_WIDE(ints) b)
{
    return EK_MM(mullo_epi32)(a, b);
}
/* a >> shift. */
EK_INLINE EK_WIDE(ints) EK_WIDE(shifted)(const EK_WIDE(ints) a, const int32_t shift)
{
    return EK_MM(sra_epi32)(a, _mm_cvtsi32_si128(shift));
}
/* No less than lo and no more than hi. */
EK_INLINE EK_WIDE(ints) EK_WIDE(bounded)(const EK_WIDE(ints) a, const int32_t lo, const int32_t hi)
{
    return EK_MM(min_epi32)(EK_MM(max_epi32)(a, EK_MM(set1_epi32)(lo)), EK_MM(set1_epi32)(hi));
}

/* What a vector of sums is multiplied by and shifted, as the rules want it. */
struct EK_WIDE(scales) {
    EK_WIDE(ints) m;
    EK_WIDE(ints) m_odd; /* of odd lanes, in even ones */
    EK_WIDE(ints) shift;
    EK_WIDE(ints) last_shift;
    EK_WIDE(ints) half; /* of a unit of the last shift; the offset of a line */
    EK_WIDE(lanes) away; /* where the last shift rounds halves away from zero */
};

/* The scales of outputs from `at` on. */
EK_INLINE struct EK_WIDE(scales)
    EK_WIDE(scales)(const int32_t kind, const int32_t *m, const int8_t *e, const int32_t at)
{
    const EK_WIDE(ints) zero = EK_MM(set1_epi32)(0), one = EK_MM(set1_epi32)(1);
    struct EK_WIDE(scales) s;
    s.m = EK_WIDE(load)(m + at);
    s.m_odd = zero;
    s.shift = zero;
    s.last_shift = zero;
    s.half = zero;
    s.away = EK_WIDE(above_zero)(zero);
    if (kind >= ek_requantize_line_kind) {
        s.half = EK_WIDE(load)(e + 4 * at);
        return s;
    }
    const EK_WIDE(ints) exponent =
        kind <= ek_requantize_e_wide_kind ? EK_MM(set1_epi32)(e[0]) : EK_WIDE(widened)(e + at);
    const EK_WIDE(ints) up = EK_MM(max_epi32)(exponent, zero);
    s.m_odd = EK_MM(srli_epi64)(s.m, 32);
    s.shift = exponent;
    if (kind == ek_requantize_e_kind) {
        s.last_shift = EK_MM(set1_epi32)(e[0] - 32);
        s.half = EK_MM(sllv_epi64)(EK_WIDE(same_long)(1), EK_WIDE(same_long)(e[0] - 1));
    } else if (kind == ek_requantize_tfl_kind) {
        s.shift = EK_MM(add_epi32)(up, one);
        s.last_shift = EK_MM(sub_epi32)(up, exponent);
        s.half = EK_MM(sllv_epi32)(one, EK_MM(sub_epi32)(s.last_shift, one));
        s.away = EK_WIDE(above_zero)(s.last_shift);
    }
    return s;
}

/* The same with one multiplier and exponent for all. */
EK_INLINE struct EK_WIDE(scales) EK_WIDE(scale)(const int32_t kind, const int32_t m, const int32_t e)
{
    const EK_WIDE(ints) one = EK_MM(set1_epi32)(1);
    struct EK_WIDE(scales) s;
    s.m = EK_MM(set1_epi32)(m);
    s.m_odd = s.m;
    s.shift = EK_MM(set1_epi32)(kind < ek_requantize_tfl_kind ? e : e < 0 ? 1 : e + 1);
    s.last_shift = EK_MM(set1_epi32)(kind < ek_requantize_tfl_kind ? e - 32 : e < 0 ? -e : 0);
    s.half = kind == ek_requantize_e_kind
                 ? EK_MM(sllv_epi64)(EK_WIDE(same_long)(1), EK_WIDE(same_long)(e - 1))
                 : EK_MM(sllv_epi32)(one, EK_MM(sub_epi32)(s.last_shift, one));
    s.away = EK_WIDE(above_zero)(s.last_shift);
    return s;
}

/* Rule E. */
EK_INLINE EK_WIDE(ints) EK_WIDE(by_e)(const EK_WIDE(ints) acc, const struct EK_WIDE(scales) * s)
{
    const EK_WIDE(ints) even = EK_MM(add_epi64)(EK_MM(mul_epi32)(acc, s->m), s->half);
    const EK_WIDE(ints) odd =
        EK_MM(add_epi64)(EK_MM(mul_epi32)(EK_MM(srli_epi64)(acc, 32), s->m_odd), s->half);
    return EK_MM(srav_epi32)(EK_WIDE(upper)(even, odd), s->last_shift);
}

/* Rule T: the sum is doubled, so that the product's upper half is what counts. */
EK_INLINE EK_WIDE(ints) EK_WIDE(by_tfl)(const EK_WIDE(ints) acc, const struct EK_WIDE(scales) * s)
{
    const EK_WIDE(ints) a = EK_MM(sllv_epi32)(acc, s->shift), half = EK_WIDE(same_long)((int64_t)1 << 31);
    const EK_WIDE(ints) even = EK_MM(add_epi64)(EK_MM(mul_epi32)(a, s->m), half);
    const EK_WIDE(ints) odd = EK_MM(add_epi64)(EK_MM(mul_epi32)(EK_MM(srli_epi64)(a, 32), s->m_odd), half);
    const EK_WIDE(ints) y = EK_WIDE(upper)(even, odd), sum = EK_MM(add_epi32)(y, s->half);
    return EK_MM(srav_epi32)(EK_WIDE(add_where)(sum, s->away, EK_MM(srai_epi32)(y, 31)), s->last_shift);
}

/* Rule E for large ratios, and that of a single rounding. */
EK_INLINE EK_WIDE(ints)
    EK_WIDE(by_once)(const int32_t is_away, const EK_WIDE(ints) acc, const struct EK_WIDE(scales) * s);

/* A line. */
EK_INLINE EK_WIDE(ints)
    EK_WIDE(by_line)(const int32_t is_away, const EK_WIDE(ints) acc, const struct EK_WIDE(scales) * s)
{
    const EK_WIDE(ints) offset = is_away ? EK_WIDE(with_sign)(s->half, acc) : s->half;
    return EK_MM(cvtps_epi32)(
        EK_MM(fmadd_ps)(EK_MM(cvtepi32_ps)(acc), (EK_WIDE(reals))s->m, (EK_WIDE(reals))offset));
}

/* The rule of this kind. */
EK_INLINE EK_WIDE(ints)
    EK_WIDE(requantized)(const int32_t kind, const EK_WIDE(ints) acc, const struct EK_WIDE(scales) * s)
{
    return kind >= ek_requantize_line_kind  ? EK_WIDE(by_line)(kind == ek_requantize_line_away_kind, acc, s)
           : kind == ek_requantize_e_kind   ? EK_WIDE(by_e)(acc, s)
           : kind == ek_requantize_tfl_kind ? EK_WIDE(by_tfl)(acc, s)
                                            : EK_WIDE(by_once)(kind == ek_requantize_once_kind, acc, s);
}

/* No less than lo and no more than hi, in bytes. */
EK_INLINE EK_WIDE(ints) EK_WIDE(clamped)(const EK_WIDE(ints) y, const int32_t lo, const int32_t hi)
{
    const EK_WIDE(ints) low = lo > -128 ? EK_MM(max_epi8)(EK_MM(set1_epi8)((char)lo), y) : y;
    return hi < 127 ? EK_MM(min_epi8)(EK_MM(set1_epi8)((char)hi), low) : low;
}

/* clamp(zero + y) of four vectors, four of each behind the other in each 128 bits. */
EK_INLINE EK_WIDE(ints) EK_WIDE(mixed)(const EK_WIDE(ints) a, const EK_WIDE(ints) b, const EK_WIDE(ints) c,
    const EK_WIDE(ints) d, const int32_t zero, const int32_t lo, const int32_t hi)
{
    EK_WIDE(ints) first = EK_MM(packs_epi32)(a, b), second = EK_MM(packs_epi32)(c, d);
    if (zero != 0) {
        first = EK_MM(adds_epi16)(first, EK_MM(set1_epi16)((int16_t)zero));
        second = EK_MM(adds_epi16)(second, EK_MM(set1_epi16)((int16_t)zero));
    }
    return EK_WIDE(clamped)(EK_MM(packs_epi16)(first, second), lo, hi);
}
