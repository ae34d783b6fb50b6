/* The sums of gates by vectors of EK_LANES sums: EK_WIDE(name) and EK_MM(name) are those of a width, whose headers
 * include this text. Each gate has whole vectors of rows. */

/* Sums of `blocks` vectors of rows. Rule E keeps upper words of products: small shifts move sums up, within 32 bits. */
EK_PART void EK_WIDE(block_sums)(const struct ek_gates *g, const int8_t *h, const int32_t row,
    const int32_t blocks, const int32_t parts, int32_t *sum)
{
    const int32_t steps = (g->size + EK_TAPS - 1) / EK_TAPS, up = g->shift < 32 ? 32 - g->shift : 0;
    const struct EK_WIDE(layer) s = {1, steps, 0, 0, 0, 0, 0, 0, g->r, g->b, g->m, NULL, 0, 1};
    const int8_t shift = (int8_t)(g->shift + up);
    EK_WIDE(ints) acc[8];
    EK_WIDE(products)(acc, (const uint8_t *)h, row, blocks, parts, &s);
    EK_UNROLLED_FOR(32, int32_t n = 0; n < blocks; n++) {
        const struct EK_WIDE(scales) scales =
            EK_WIDE(scales)(ek_requantize_e_kind, g->m, &shift, row + EK_LANES * n);
        const EK_WIDE(ints) moved = EK_MM(sll_epi32)(acc[n], _mm_cvtsi32_si128(up));
        const EK_WIDE(ints) total = EK_WIDE(requantized)(ek_requantize_e_kind, moved, &scales);
        (void)__builtin_memcpy(sum + EK_LANES * n, &total, sizeof total);
    }
}

/* What state h adds to `left` sums of gate k from `first` on, 64 at most. */
EK_INLINE void EK_WIDE(sums)(const struct ek_gates *g, const int8_t *h, const int32_t k, const int32_t first,
    const int32_t left, int32_t *sum)
{
    const int32_t row = k * ((g->size + EK_LANES - 1) / EK_LANES * EK_LANES) + first;
    int32_t blocks = (left + EK_LANES - 1) / EK_LANES, o = 0;
    if (blocks >= 8) {
        EK_WIDE(block_sums)(g, h, row, 8, 1, sum);
        return;
    }
    if (blocks >= 4) {
        EK_WIDE(block_sums)(g, h, row, 4, 2, sum);
        o = 4 * EK_LANES;
        blocks -= 4;
    }
    if (blocks >= 2) {
        EK_WIDE(block_sums)(g, h, row + o, 2, 4, sum + o);
        o += 2 * EK_LANES;
        blocks -= 2;
    }
    if (blocks)
        EK_WIDE(block_sums)(g, h, row + o, 1, 4, sum + o);
}
