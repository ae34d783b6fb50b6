/* Sums of products of int8 over lines of pixels, in vectors of EK_LANES sums, each step EK_TAPS products for every sum:
 * EK_WIDE(name) is that of a width, and the header of each width includes this text. Weights are tiled
 * O/lanes! H WI/taps! o wi; x is copied with its borders, as the instructions want it. */

/* Where the taps of a window are. */
struct EK_WIDE(taps) {
    int32_t k_h;
    int32_t k_w;
    int32_t row_step; /* bytes from one row of taps to the next */
    int32_t stride; /* columns of each remainder lie together */
    int32_t dilation;
    int32_t plane; /* bytes of those */
    int32_t cell; /* bytes of a pixel */
};

EK_INLINE int32_t EK_WIDE(tap)(const struct EK_WIDE(taps) * t, const int32_t i, const int32_t j)
{
    const int32_t column = j * t->dilation;
    return i * t->row_step + column % t->stride * t->plane + column / t->stride * t->cell;
}

#if EK_TAPS == 4
/* Bytes of the weights of a channel. */
EK_INLINE int32_t EK_WIDE(tap_bytes)(const struct EK_WIDE(taps) * t)
{
    return (t->k_h + 3) / 4 * 4 * t->k_w;
}

/* Adds the products of four vectors of channels, four taps of a column at a time; the order of sums is that of vpunpck. */
EK_INLINE void EK_WIDE(window)(
    EK_WIDE(ints) * sum, const uint8_t *x, const int8_t *w, const struct EK_WIDE(taps) * t)
{
    EK_WIDE(ints) s[4] = {sum[0], sum[1], sum[2], sum[3]};
    for (int32_t i = 0; i < t->k_h; i += 4) {
        const int32_t last = t->k_h - 1 - i; /* the weights behind it are 0 */
        EK_UNROLLED_FOR(32, int32_t j = 0; j < t->k_w; j++, w += 16 * EK_LANES) {
            const uint8_t *const from = x + EK_WIDE(tap)(t, i, j);
            const EK_WIDE(ints) r0 = EK_WIDE(load)(from),
                                r1 = EK_WIDE(load)(from + (last < 1 ? last : 1) * t->row_step);
            const EK_WIDE(ints) r2 = EK_WIDE(load)(from + (last < 2 ? last : 2) * t->row_step);
            const EK_WIDE(ints) r3 = last < 3 ? r2 : EK_WIDE(load)(from + 3 * t->row_step);
            const EK_WIDE(ints) a = EK_UNPACK(lo_epi8, r0, r1), b = EK_UNPACK(hi_epi8, r0, r1);
            const EK_WIDE(ints) c = EK_UNPACK(lo_epi8, r2, r3), d = EK_UNPACK(hi_epi8, r2, r3);
            s[0] = EK_WIDE(dot)(s[0], EK_UNPACK(lo_epi16, a, c), EK_WIDE(load)(w));
            s[1] = EK_WIDE(dot)(s[1], EK_UNPACK(hi_epi16, a, c), EK_WIDE(load)(w + 4 * EK_LANES));
            s[2] = EK_WIDE(dot)(s[2], EK_UNPACK(lo_epi16, b, d), EK_WIDE(load)(w + 8 * EK_LANES));
            s[3] = EK_WIDE(dot)(s[3], EK_UNPACK(hi_epi16, b, d), EK_WIDE(load)(w + 12 * EK_LANES));
        }
    }
    EK_UNROLLED_FOR(32, int32_t k = 0; k < 4; k++)
        sum[k] = s[k];
}
#endif

/* A layer over windows of `rows` runs of x, each of `steps` times four bytes. */
struct EK_WIDE(layer) {
    int32_t rows;
    int32_t steps;
    int32_t row_step; /* bytes of the copy of x */
    int32_t outputs;
    int32_t kind; /* of the rule */
    int32_t zero;
    int32_t lo;
    int32_t hi;
    const int8_t *w;
    const int32_t *b;
    const int32_t *m;
    const int8_t *e;
    int32_t is_wide; /* results have 16 bits, two of what y points to */
    int32_t
        abreast; /* vectors of outputs whose weights of a step are side by side; in the last part may be fewer */
};

/* Where weights of output `first` begin, and how far it is to the next step and to the next vector of outputs. */
struct EK_WIDE(weight_steps) {
    const int8_t *w;
    int32_t step;
    int32_t block;
};

EK_INLINE struct EK_WIDE(weight_steps)
    EK_WIDE(weights_of)(const struct EK_WIDE(layer) * s, const int32_t first)
{
    const int32_t bytes = EK_LANES * EK_TAPS, steps = s->rows * s->steps, block = first / EK_LANES;
    const int32_t abreast = EK_ABREAST > 1 ? s->abreast : 1, inside = block % abreast;
    const int32_t left = (s->outputs + EK_LANES - 1) / EK_LANES - block + inside;
    const int32_t width = abreast > 1 && left < abreast ? left : abreast;
    const struct EK_WIDE(weight_steps) all = {s->w + ((block - inside) * steps + inside) * bytes,
        width * bytes, width == 1 ? steps * bytes : bytes};
    return all;
}

/* Results of `count` sums: `blocks` of a pixel from output `first` on, one pixel behind the other. */
EK_PART void EK_WIDE(finish)(const EK_WIDE(ints) * sum, int8_t *y, const int32_t first, const int32_t count,
    const int32_t blocks, const struct EK_WIDE(layer) * s)
{
    const int32_t last = count - 1, room = s->outputs - first - EK_LANES * (blocks - 1);
    const int32_t rest = room < EK_LANES ? room : EK_LANES;
    EK_WIDE(ints) z[64];
    EK_UNROLLED_FOR(32, int32_t o = 0; o < blocks; o++) {
        const struct EK_WIDE(scales) scales = EK_WIDE(scales)(s->kind, s->m, s->e, first + EK_LANES * o);
        EK_UNROLLED_FOR(32, int32_t n = o; n < count; n += blocks)
            z[n] = EK_WIDE(requantized)(s->kind, sum[n], &scales);
    }
    if (s->is_wide) {
        EK_UNROLLED_FOR(32, int32_t n = 0; n < count; n++)
            EK_WIDE(store_s16)((int16_t *)(void *)y + n / blocks * s->outputs + EK_LANES * (n % blocks),
                EK_WIDE(bounded)(EK_WIDE(add)(z[n], EK_WIDE(same)(s->zero)), s->lo, s->hi),
                n % blocks + 1 < blocks ? EK_LANES : rest);
        return;
    }
    EK_UNROLLED_FOR(32, int32_t n = 0; n < count; n += 4) {
        const EK_WIDE(ints) packed = EK_WIDE(packed)(z[n], z[n + 1 < last ? n + 1 : last],
            z[n + 2 < last ? n + 2 : last], z[n + 3 < last ? n + 3 : last], s->zero, s->lo, s->hi);
        if (blocks % 4 == 0 ? rest == EK_LANES
                            : !EK_IS_COMPACT && s->outputs == blocks * EK_LANES && n + 4 <= count)
            EK_WIDE(store_all)(y + n / blocks * s->outputs + n % blocks * EK_LANES, packed);
        else if (blocks == 2 && rest == EK_LANES && n + 4 <= count) {
            EK_WIDE(store_half)(y + n / 2 * s->outputs, packed, 0);
            EK_WIDE(store_half)(y + (n / 2 + 1) * s->outputs, packed, 1);
        } else
            EK_UNROLLED_FOR(32, int32_t k = 0; k < 4; k++)
                if (n + k < count)
                    EK_WIDE(store)(y + (n + k) / blocks * s->outputs + EK_LANES * ((n + k) % blocks), packed,
                        k, (n + k) % blocks + 1 < blocks ? EK_LANES : rest);
    }
}

/* `pixels` times `blocks` sums. They begin with biases and, where `term` is not 0, a number so many bytes behind a pixel. */
EK_PART void EK_WIDE(tile)(const uint8_t *x, int8_t *y, const int32_t first, const int32_t x_step,
    const int32_t pixels, const int32_t blocks, const int32_t term, const struct EK_WIDE(layer) * s)
{
    const struct EK_WIDE(weight_steps) at = EK_WIDE(weights_of)(s, first);
    const int8_t *w = at.w;
    EK_WIDE(ints) sum[64];
    EK_UNROLLED_FOR(32, int32_t o = 0; o < blocks; o++) {
        const EK_WIDE(ints) bias = EK_WIDE(load)(s->b + first + EK_LANES * o);
        EK_UNROLLED_FOR(32, int32_t q = 0; q < pixels; q++)
            sum[q * blocks + o] = term ? EK_WIDE(add)(bias, EK_WIDE(spread)(x + q * x_step + term)) : bias;
    }
    for (int32_t i = 0; i < s->rows; i++) {
        const uint8_t *from = x + i * s->row_step;
        for (int32_t c = 0; c < s->steps; c++, from += 4, w += at.step) {
            EK_WIDE(ints) v[4];
            EK_UNROLLED_FOR(32, int32_t o = 0; o < blocks; o++)
                v[o] = EK_WIDE(weights)(w + o * at.block);
            EK_UNROLLED_FOR(32, int32_t q = 0; q < pixels; q++)
                EK_WIDE(dots)(sum + q * blocks, from + q * x_step, v, blocks);
        }
    }
    EK_WIDE(finish)(sum, y, first, pixels * blocks, blocks, s);
}

/* The sums of one pixel: `blocks` times `parts`, so that there are enough of them that do not wait for each other. */
EK_PART void EK_WIDE(products)(EK_WIDE(ints) * sum, const uint8_t *x, const int32_t first,
    const int32_t blocks, const int32_t parts, const struct EK_WIDE(layer) * s)
{
    const struct EK_WIDE(weight_steps) at = EK_WIDE(weights_of)(s, first);
    EK_UNROLLED_FOR(32, int32_t n = 0; n < blocks * parts; n++)
        sum[n] = n < blocks ? EK_WIDE(load)(s->b + first + EK_LANES * n) : EK_WIDE(same)(0);
    for (int32_t i = 0; i < s->rows; i++) {
        const uint8_t *from = x + i * s->row_step;
        for (int32_t c = 0; c < s->steps; c += parts)
            EK_UNROLLED_FOR(32, int32_t k = 0; k < parts; k++)
                if (c + k < s->steps) {
                    const EK_WIDE(ints) t = EK_WIDE(spread)(from + 4 * (c + k));
                    const int8_t *w = at.w + (i * s->steps + c + k) * at.step;
                    EK_UNROLLED_FOR(32, int32_t o = 0; o < blocks; o++)
                        sum[k * blocks + o] =
                            EK_WIDE(dot)(sum[k * blocks + o], t, EK_WIDE(weights)(w + o * at.block));
                }
    }
    EK_UNROLLED_FOR(32, int32_t n = blocks; n < blocks * parts; n++)
        sum[n % blocks] = EK_WIDE(add)(sum[n % blocks], sum[n]);
}

EK_PART void EK_WIDE(pixel)(const uint8_t *x, int8_t *y, const int32_t first, const int32_t blocks,
    const int32_t parts, const struct EK_WIDE(layer) * s)
{
    EK_WIDE(ints) sum[8];
    EK_WIDE(products)(sum, x, first, blocks, parts, s);
    EK_WIDE(finish)(sum, y, first, blocks, blocks, s);
}

/* A line of `length` pixels, `blocks` known to the compiler. Tiles are alike; the last ones may overlap. */
EK_PART void EK_WIDE(line)(const uint8_t *x, int8_t *y, const int32_t first, const int32_t x_step,
    const int32_t length, const int32_t blocks, const int32_t term, const struct EK_WIDE(layer) * s)
{
    const int32_t most = EK_PIXELS(blocks), count = (length + most - 1) / most;
    const int32_t wanted = (length + count - 1) / count, y_step = s->outputs << s->is_wide;
#define EK_TILES(n)                                                                                          \
    for (int32_t k = 0; k < length; k += (n)) {                                                              \
        const int32_t at = k + (n) <= length ? k : length - (n);                                             \
        EK_WIDE(tile)(x + at * x_step, y + at * y_step, first, x_step, (n), blocks, term, s);                \
    }
    if (most == 16 && length >= 16 && (length + 15) / 16 * 16 <= (length + 7) / 8 * 8)
        EK_TILES(16)
    else if (most == 12 && length >= 12 && (length + 11) / 12 * 12 <= (length + 7) / 8 * 8)
        EK_TILES(12)
    else if (most >= 8 && wanted > 4 && length >= 8)
        EK_TILES(8)
    else if (most == 6 && length >= 6 && (length + 5) / 6 * 6 <= (length + 3) / 4 * 4)
        EK_TILES(6)
    else if (!EK_IS_COMPACT && most == 6 && length >= 5 && (length + 4) / 5 * 5 <= (length + 3) / 4 * 4)
        EK_TILES(5)
    else if (length >= 4)
        EK_TILES(4)
    else
        EK_TILES(1)
#undef EK_TILES
}

/* `lines` of `length` pixels, `outputs` of any number. */
EK_PART void EK_WIDE(lines_from)(const uint8_t *x, int8_t *y, const int32_t lines, const int32_t line_step,
    const int32_t x_step, const int32_t length, const int32_t term, const struct EK_WIDE(layer) * s)
{
    const int32_t blocks = (s->outputs + EK_LANES - 1) / EK_LANES;
    const int32_t parts = (blocks + EK_BLOCKS - 1) / EK_BLOCKS;
    const int32_t part = EK_ABREAST > 1 && s->abreast > 1 ? EK_BLOCKS : (blocks + parts - 1) / parts;
    for (int32_t o = 0; o < blocks; o += part) {
        const int32_t now = blocks - o < part ? blocks - o : part, first = o * EK_LANES;
        for (int32_t h = 0; h < lines; h++) {
            const uint8_t *from = x + h * line_step;
            int8_t *to = y + ((h * length * s->outputs + first) << s->is_wide);
            if (EK_BLOCKS >= 4 && now == 4)
                EK_WIDE(line)(from, to, first, x_step, length, 4, term, s);
            else if (EK_BLOCKS >= 3 && now == 3)
                EK_WIDE(line)(from, to, first, x_step, length, 3, term, s);
            else if (now == 2)
                EK_WIDE(line)(from, to, first, x_step, length, 2, term, s);
            else
                EK_WIDE(line)(from, to, first, x_step, length, 1, term, s);
        }
    }
}

/* The same, whose sums begin with biases alone. */
EK_INLINE void EK_WIDE(lines)(const uint8_t *x, int8_t *y, const int32_t lines, const int32_t line_step,
    const int32_t x_step, const int32_t length, const struct EK_WIDE(layer) * s)
{
    EK_WIDE(lines_from)(x, y, lines, line_step, x_step, length, 0, s);
}

/* One pixel, all outputs: at most those abreast at once. */
EK_INLINE void EK_WIDE(outputs)(const uint8_t *x, int8_t *y, const struct EK_WIDE(layer) * s)
{
    int32_t left = (s->outputs + EK_LANES - 1) / EK_LANES, o = 0;
    if (EK_ABREAST == 1 || s->abreast == 1)
        for (; left >= 8; left -= 8, o += 8 * EK_LANES)
            EK_WIDE(pixel)(x, y + (o << s->is_wide), o, 8, 1, s);
    for (; left >= 4; left -= 4, o += 4 * EK_LANES)
        EK_WIDE(pixel)(x, y + (o << s->is_wide), o, 4, 2, s);
    if (left >= 2) {
        EK_WIDE(pixel)(x, y + (o << s->is_wide), o, 2, 4, s);
        left -= 2;
        o += 2 * EK_LANES;
    }
    if (left)
        EK_WIDE(pixel)(x, y + (o << s->is_wide), o, 1, 4, s);
}

/* Weights of which blocks, EK_TAPS inputs of EK_LANES outputs, are zero and left out. Words of one that
 * is there: where its inputs begin, and its weights. */
#define EK_BLOCK_WORDS (1 + EK_LANES * EK_TAPS / 4)

/* EK_LANES outputs of `count` rows. */
EK_PART void EK_WIDE(block_tile)(const uint8_t *x, int8_t *y, const int32_t *w, const int32_t pairs,
    const int32_t first, const int32_t x_step, const int32_t count, const struct EK_WIDE(layer) * s)
{
    const EK_WIDE(ints) bias = EK_WIDE(load)(s->b + first);
    EK_WIDE(ints) sum[64];
    EK_UNROLLED_FOR(32, int32_t q = 0; q < count; q++)
        sum[q] = bias;
    for (int32_t i = 0; i < 2 * pairs; i++, w += EK_BLOCK_WORDS) {
        const uint8_t *const from = x + w[0] * (4 / EK_TAPS);
        const EK_WIDE(ints) weights = EK_WIDE(weights)((const int8_t *)(const void *)(w + 1));
        EK_UNROLLED_FOR(32, int32_t q = 0; q < count; q++)
            sum[q] = EK_WIDE(dot)(sum[q], EK_WIDE(spread)(from + q * x_step), weights);
    }
    EK_WIDE(finish)(sum, y, first, count, 1, s);
}

/* The same of one row: the blocks of two pairs add to sums of their own, which do not wait for each other. */
EK_PART void EK_WIDE(block_row)(const uint8_t *x, int8_t *y, const int32_t *w, const int32_t pairs,
    const int32_t first, const struct EK_WIDE(layer) * s)
{
    EK_WIDE(ints) sum[4];
    EK_UNROLLED_FOR(32, int32_t k = 0; k < 4; k++)
        sum[k] = k == 0 ? EK_WIDE(load)(s->b + first) : EK_WIDE(same)(0);
    for (int32_t i = 0; i < pairs; i += 2)
        EK_UNROLLED_FOR(32, int32_t k = 0; k < 4; k++)
            if (i + k / 2 < pairs) {
                const int32_t *const block = w + (2 * i + k) * EK_BLOCK_WORDS;
                const EK_WIDE(ints) weights = EK_WIDE(weights)((const int8_t *)(const void *)(block + 1));
                sum[k] = EK_WIDE(dot)(sum[k], EK_WIDE(spread)(x + block[0] * (4 / EK_TAPS)), weights);
            }
    sum[0] = EK_WIDE(add)(EK_WIDE(add)(sum[0], sum[1]), EK_WIDE(add)(sum[2], sum[3]));
    EK_WIDE(finish)(sum, y, first, 1, 1, s);
}

/* All outputs of `rows` rows. The last tile may overlap the one before it; less than four rows are computed one by one. */
EK_INLINE void EK_WIDE(block_rows)(
    const uint8_t *x, int8_t *y, const int32_t rows, const int32_t x_step, const struct EK_WIDE(layer) * s)
{
    const int32_t *w = (const int32_t *)(const void *)s->w;
    for (int32_t first = 0; first < s->outputs; first += EK_LANES) {
        const int32_t pairs = *w++;
        int32_t k = 0;
#define EK_TILE(n, at)                                                                                       \
    EK_WIDE(block_tile)                                                                                      \
    (x + (at) * x_step, y + first + (at) * s->outputs, w, pairs, first, x_step, (n), s)
        if (EK_LANES == 16)
            for (; rows - k >= 16; k += 16)
                EK_TILE(16, k);
        for (; rows - k >= 8; k += 8)
            EK_TILE(8, k);
        if (rows >= 8 && rows - k > 4)
            EK_TILE(8, rows - 8);
        else if (rows >= 4)
            for (; k < rows; k += 4)
                EK_TILE(4, k + 4 <= rows ? k : rows - 4);
        else
            for (; k < rows; k++)
                EK_WIDE(block_row)(x + k * x_step, y + first + k * s->outputs, w, pairs, first, s);
#undef EK_TILE
        w += 2 * pairs * EK_BLOCK_WORDS;
    }
}
#undef EK_BLOCK_WORDS
