/* The sums of gates by blocks of four rows: EK_DOT(name) is that of the instruction set, whose header for
 * gates include this text, EK_CELLS and EK_ROWS what these take at once. Each gate has whole blocks. */

/* Sums of `blocks` blocks. Rule E keeps upper words of products: small shifts move sums up, within 32 bits. */
EK_INLINE void EK_DOT(block_sums)(
    const struct ek_gates *g, const int8_t *h, const int32_t row, const int32_t blocks, int32_t *sum)
{
    const int32_t cells = (g->size + EK_CELLS - 1) / EK_CELLS * EK_CELLS;
    const int32_t up = g->shift < 32 ? 32 - g->shift : 0;
    int32x4_t acc[4];
    for (int32_t n = 0; n < blocks; n++)
        acc[n] = vld1q_s32(g->b + row + 4 * n);
    EK_DOT(s8_neon)(h, 0, 0, 1, g->size, g->r + row * cells, 1, blocks, acc);
    for (int32_t n = 0; n < blocks; n++) {
        const int32x4_t wide = vshlq_s32(acc[n], vdupq_n_s32(up)), m = vld1q_s32(g->m + row + 4 * n);
        vst1q_s32(sum + 4 * n, vrshlq_s32(vqdmulhq_s32(wide, m), vdupq_n_s32(31 - up - g->shift)));
    }
}

/* What state h adds to `left` sums of gate k from `first` on. */
EK_INLINE void EK_DOT(sums)(const struct ek_gates *g, const int8_t *h, const int32_t k, const int32_t first,
    const int32_t left, int32_t *sum)
{
    const int32_t row = k * ((g->size + 3) / 4 * 4) + first;
    if (EK_ROWS > 12 && left > 12)
        EK_DOT(block_sums)(g, h, row, 4, sum);
    else if (EK_ROWS > 8 && left > 8)
        EK_DOT(block_sums)(g, h, row, 3, sum);
    else if (left > 4)
        EK_DOT(block_sums)(g, h, row, 2, sum);
    else
        EK_DOT(block_sums)(g, h, row, 1, sum);
}
