/* Sums of products of int8 over lines of pixels, in vectors of EK_LANES sums, each step EK_TAPS products for every sum:
 * EK_WIDE(name) is that of a width, and the headers of widths (vector_*.h) include this text. Weights are tiled
 * O/lanes! H WI/taps! o wi; x is copied with its borders, as the instructions want it. */

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
};

/* Results of `count` sums: `blocks` of a pixel from output `first` on, one pixel behind the other. */
EK_PART void EK_WIDE(finish)(const EK_WIDE(ints) * sum, int8_t *y, const int32_t first, const int32_t count,
    const int32_t blocks, const struct EK_WIDE(layer) * s)
{
    const int32_t last = count - 1, room = s->outputs - first - EK_LANES * (blocks - 1);
    const int32_t rest = room < EK_LANES ? room : EK_LANES;
    EK_WIDE(ints) z[64];
    EK_UNROLL
    for (int32_t o = 0; o < blocks; o++) {
        const struct EK_WIDE(scales) scales = EK_WIDE(scales)(s->kind, s->m, s->e, first + EK_LANES * o);
        EK_UNROLL
        for (int32_t n = o; n < count; n += blocks)
            z[n] = EK_WIDE(requantized)(s->kind, sum[n], &scales);
    }
    EK_UNROLL
    for (int32_t n = 0; n < count; n += 4) {
        const EK_WIDE(ints) packed = EK_WIDE(packed)(z[n], z[n + 1 < last ? n + 1 : last],
            z[n + 2 < last ? n + 2 : last], z[n + 3 < last ? n + 3 : last], s->zero, s->lo, s->hi);
        if (blocks % 4 == 0 && rest == EK_LANES)
            EK_WIDE(store_all)(y + n / blocks * s->outputs + n % blocks * EK_LANES, packed);
        else if (blocks == 2 && rest == EK_LANES && n + 4 <= count) {
            EK_WIDE(store_half)(y + n / 2 * s->outputs, packed, 0);
            EK_WIDE(store_half)(y + (n / 2 + 1) * s->outputs, packed, 1);
        } else
            EK_UNROLL
        for (int32_t k = 0; k < 4; k++)
            if (n + k < count)
                EK_WIDE(store)(y + (n + k) / blocks * s->outputs + EK_LANES * ((n + k) % blocks), packed, k,
                    (n + k) % blocks + 1 < blocks ? EK_LANES : rest);
    }
}

/* `pixels` times `blocks` sums. */
EK_PART void EK_WIDE(tile)(const uint8_t *x, int8_t *y, const int32_t first, const int32_t x_step,
    const int32_t pixels, const int32_t blocks, const struct EK_WIDE(layer) * s)
{
    const int32_t block_weights = s->rows * s->steps * EK_LANES * EK_TAPS;
    const int8_t *w = s->w + first * s->rows * s->steps * EK_TAPS;
    EK_WIDE(ints) sum[64];
    EK_UNROLL
    for (int32_t o = 0; o < blocks; o++) {
        const EK_WIDE(ints) bias = EK_WIDE(load)(s->b + first + EK_LANES * o);
        EK_UNROLL
        for (int32_t q = 0; q < pixels; q++)
            sum[q * blocks + o] = bias;
    }
    for (int32_t i = 0; i < s->rows; i++) {
        const uint8_t *from = x + i * s->row_step;
        for (int32_t c = 0; c < s->steps; c++, from += 4, w += EK_LANES * EK_TAPS) {
            EK_WIDE(ints) v[4];
            EK_UNROLL
            for (int32_t o = 0; o < blocks; o++)
                v[o] = EK_WIDE(weights)(w + o * block_weights);
            EK_UNROLL
            for (int32_t q = 0; q < pixels; q++)
                EK_WIDE(dots)(sum + q * blocks, from + q * x_step, v, blocks);
        }
    }
    EK_WIDE(finish)(sum, y, first, pixels * blocks, blocks, s);
}

/* One pixel: `blocks` times `parts` sums, so that there are enough of them that do not wait for each other. */
EK_PART void EK_WIDE(pixel)(const uint8_t *x, int8_t *y, const int32_t first, const int32_t blocks,
    const int32_t parts, const struct EK_WIDE(layer) * s)
{
    const int32_t block_weights = s->rows * s->steps * EK_LANES * EK_TAPS;
    const int8_t *w = s->w + first * s->rows * s->steps * EK_TAPS;
    EK_WIDE(ints) sum[8];
    EK_UNROLL
    for (int32_t n = 0; n < blocks * parts; n++)
        sum[n] = n < blocks ? EK_WIDE(load)(s->b + first + EK_LANES * n) : EK_WIDE(same)(0);
    for (int32_t i = 0; i < s->rows; i++) {
        const uint8_t *from = x + i * s->row_step;
        for (int32_t c = 0; c < s->steps; c += parts)
            EK_UNROLL
        for (int32_t k = 0; k < parts; k++)
            if (c + k < s->steps) {
                const EK_WIDE(ints) t = EK_WIDE(spread)(from + 4 * (c + k));
                const int8_t *at = w + (i * s->steps + c + k) * EK_LANES * EK_TAPS;
                EK_UNROLL
                for (int32_t o = 0; o < blocks; o++)
                    sum[k * blocks + o] =
                        EK_WIDE(dot)(sum[k * blocks + o], t, EK_WIDE(weights)(at + o * block_weights));
            }
    }
    EK_UNROLL
    for (int32_t n = blocks; n < blocks * parts; n++)
        sum[n % blocks] = EK_WIDE(add)(sum[n % blocks], sum[n]);
    EK_WIDE(finish)(sum, y, first, blocks, blocks, s);
}

/* A line of `length` pixels, `blocks` known to the compiler. Tiles are alike; the last ones may overlap. */
EK_PART void EK_WIDE(line)(const uint8_t *x, int8_t *y, const int32_t first, const int32_t x_step,
    const int32_t length, const int32_t blocks, const struct EK_WIDE(layer) * s)
{
    const int32_t most = EK_PIXELS(blocks), count = (length + most - 1) / most;
    const int32_t wanted = count > 0 ? (length + count - 1) / count : 0;
#define EK_TILES(n)                                                                                          \
    for (int32_t k = 0; k < length; k += (n)) {                                                              \
        const int32_t at = k + (n) <= length ? k : length - (n);                                             \
        EK_WIDE(tile)(x + at * x_step, y + at * s->outputs, first, x_step, (n), blocks, s);                  \
    }
    if (most == 16 && wanted > 8 && length >= 16)
        EK_TILES(16)
    else if (most == 12 && length >= 12 && (length + 11) / 12 * 12 <= (length + 7) / 8 * 8)
        EK_TILES(12)
    else if (most >= 8 && wanted > 4 && length >= 8)
        EK_TILES(8)
    else if (most == 6 && length >= 6 && (length + 5) / 6 * 6 <= (length + 3) / 4 * 4)
        EK_TILES(6)
    else if (length >= 4)
        EK_TILES(4)
    else
        EK_TILES(1)
#undef EK_TILES
}

/* `lines` of `length` pixels, `outputs` of any number. */
EK_INLINE void EK_WIDE(lines)(const uint8_t *x, int8_t *y, const int32_t lines, const int32_t line_step,
    const int32_t x_step, const int32_t length, const struct EK_WIDE(layer) * s)
{
    const int32_t blocks = (s->outputs + EK_LANES - 1) / EK_LANES;
    const int32_t parts = (blocks + EK_BLOCKS - 1) / EK_BLOCKS, part = (blocks + parts - 1) / parts;
    for (int32_t o = 0; o < blocks; o += part) {
        const int32_t now = blocks - o < part ? blocks - o : part, first = o * EK_LANES;
        for (int32_t h = 0; h < lines; h++) {
            const uint8_t *from = x + h * line_step;
            int8_t *to = y + h * length * s->outputs + first;
            if (EK_BLOCKS >= 4 && now == 4)
                EK_WIDE(line)(from, to, first, x_step, length, 4, s);
            else if (EK_BLOCKS >= 3 && now == 3)
                EK_WIDE(line)(from, to, first, x_step, length, 3, s);
            else if (now == 2)
                EK_WIDE(line)(from, to, first, x_step, length, 2, s);
            else
                EK_WIDE(line)(from, to, first, x_step, length, 1, s);
        }
    }
}

/* One pixel, all outputs. */
EK_INLINE void EK_WIDE(outputs)(const uint8_t *x, int8_t *y, const struct EK_WIDE(layer) * s)
{
    int32_t left = (s->outputs + EK_LANES - 1) / EK_LANES, o = 0;
    for (; left >= 8; left -= 8, o += 8 * EK_LANES)
        EK_WIDE(pixel)(x, y + o, o, 8, 1, s);
    if (left >= 4) {
        EK_WIDE(pixel)(x, y + o, o, 4, 2, s);
        left -= 4;
        o += 4 * EK_LANES;
    }
    if (left >= 2) {
        EK_WIDE(pixel)(x, y + o, o, 2, 4, s);
        left -= 2;
        o += 2 * EK_LANES;
    }
    if (left)
        EK_WIDE(pixel)(x, y + o, o, 1, 4, s);
}
