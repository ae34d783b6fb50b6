/* Convolution of 3 by 3 cells at every second pixel. In each direction two neighbours take five products, not six:
 * cells a b c d e become (a - c) u + c (u + w) + b v and c (u + w) - (c - e) w + d v. So a tile of 2 by 2 pixels
 * takes 25 products of two channels, not 36. Weights are packed as u, u + w, w and v; b and d meet the same ones.
 * @for T=f32 W=f32 B=f32
 * @when k_h == 3 and k_w == 3 and stride_h == 2 and stride_w == 2 and dilation_h == 1 and dilation_w == 1
 * @when groups == 1 and step_c == 1 and in_c * out_c <= 16384
 * @pack w: strided H W O/8! I o8
 * @scratch 100 * (min((out_h + 1) // 2, (15 + (out_w + 1) // 2) // ((out_w + 1) // 2))
 * @scratch * ((out_w + 1) // 2) * (in_c + out_c)) + 2048 @split out_h/2
 * @split out_h >= 2 + 2 * ((2 if (out_c - 1) % 16 >= 8 else 4) // ((out_w + 1) // 2))
 * @count across: (out_w + 1) // 2
 * @count down: (out_h + 1) // 2
 * @count bands: -(-down // ((15 + across) // across))
 * @count tiles: batch * down * across
 * @count lanes: 8
 * @count vectors: (out_c + lanes - 1) // lanes
 * @count parts: (out_c + 15) // 16
 * @count width: 12 if out_c <= 8 else 6
 * @count band: -(-down // bands) * across
 * @count input tiles: tiles * ((in_c + lanes - 1) // lanes)
 * @count output tiles: tiles * vectors
 * @count weight vectors: batch * bands * vectors * in_c
 * @count weight vectors: * (9 * -(-band // width) + 6 * -(-2 * band // width) + -(-4 * band // width))
 * @count broadcasts: 25 * tiles * parts * in_c
 * @count product vectors: 25 * tiles * vectors * in_c
 * @work broadcasts 1.31, input tiles 139, output tiles 114, product vectors 1.45, weight vectors 0.496 */
/* Convolution at every second pixel with weights of 16 bits. Their sums are stored in 32 bits, as they would not be
 * exact: for small layers only.
 * @as avx2/conv2d.strided_bf16 W=bf16 @without when in_c * out_c <= 16384 @when in_c * out_c <= 4096
 * @work broadcasts 1.31, input tiles 139, output tiles 114, product vectors 1.45, weight vectors 0.496 */
/* Convolution at every second pixel with AVX-512.
 * @as avx512/conv2d.strided @count lanes: 16
 * @count parts: (out_c + 63) // 64
 * @count width: 16 if out_c <= 16 else 12 if out_c <= 32 else 8 if out_c <= 48 else 6
 * @pack w: strided H W O/16! I o16 @split out_h/2
 * @split out_h >= 2 + 2 * ((2 if (out_c - 1) % 64 >= 16 else 4) // ((out_w + 1) // 2))
 * @work broadcasts 0.232, input tiles 79.5, product vectors 1.79, weight vectors 1.85 */
/* Convolution at every second pixel with weights of 16 bits and AVX-512. Their sums are stored in 32 bits.
 * @as avx512/conv2d.strided_bf16 W=bf16 like avx512/conv2d.strided @without when in_c * out_c <= 16384
 * @when in_c * out_c <= 4096
 * @work broadcasts 0.805, input tiles 287, output tiles 143, product vectors 0.173, weight vectors 2.43 */
#include "edgekit/contracts/conv2d.h"
#include "edgekit/loops/pixel_rows_f32.h"

/* A matrix for each of 4 by 4 weights: a row for each tile, two or four where cells meet the same weights. Of cells in
 * row i and column j of five by five, that of a tile begins here; matrices are not all in one cache set. */
EK_INLINE int32_t EK_FN_at(
    const int32_t i, const int32_t j, const int32_t tile, const int32_t tiles, const int32_t channels)
{
    const int32_t a = i < 3 ? i : 3, b = j < 3 ? j : 3, down = a < 3 ? 1 : 2, across = b < 3 ? 1 : 2;
    const int32_t before = 5 * a + down * b, row = tile * down * across + (i - a) * across + j - b;
    return (before * tiles + row) * channels + 16 * (4 * a + b);
}

/* Cells a b c d e become what meets weights. */
EK_INLINE void EK_FN_differences(ek_vf x[5])
{
    const ek_vf b = x[1], c = x[2];
    x[0] = ek_vf_sub(x[0], c);
    x[1] = c;
    x[2] = ek_vf_sub(c, x[4]);
    x[4] = x[3];
    x[3] = b;
}

/* Their products become two sums. */
EK_INLINE void EK_FN_sums(ek_vf m[5])
{
    m[0] = ek_vf_add(ek_vf_add(m[0], m[1]), m[3]);
    m[1] = ek_vf_add(ek_vf_sub(m[1], m[2]), m[4]);
}

/* The channels in `lanes` of tile `t`, whose first cell is (top, left). */
EK_INLINE void EK_FN_enter(const EK_T *x, float *to, const int32_t t, const int32_t tiles, const int32_t top,
    const int32_t left, const int32_t is_inside, const int32_t lanes, const struct EK_STRUCT *p)
{
    ek_vf half[5][5];
    EK_UNROLLED_FOR(5, int32_t j = 0; j < 5; j++) {
        const int32_t column = left + j, is_here = is_inside || (column >= 0 && column < p->in_w);
        ek_vf cell[5];
        EK_UNROLLED_FOR(5, int32_t i = 0; i < 5; i++) {
            const int32_t row = top + i;
            cell[i] = ek_vf_set(0);
            if (is_inside || (is_here && row >= 0 && row < p->in_h))
                cell[i] = ek_vf_load(x + row * p->step_h + column * p->step_w, lanes);
        }
        EK_FN_differences(cell);
        EK_UNROLLED_FOR(5, int32_t i = 0; i < 5; i++)
            half[i][j] = cell[i];
    }
    EK_UNROLLED_FOR(5, int32_t i = 0; i < 5; i++) {
        EK_FN_differences(half[i]);
        EK_UNROLLED_FOR(5, int32_t j = 0; j < 5; j++)
            ek_vf_store(to + EK_FN_at(i, j, t, tiles, p->in_c), lanes, half[i][j]);
    }
}

/* The outputs in `lanes` of tile `t`, of which `rows` and `columns` are inside. */
EK_INLINE void EK_FN_leave(const float *from, const EK_B *b, EK_T *y, const int32_t t, const int32_t tiles,
    const int32_t rows, const int32_t columns, const int32_t lanes, const struct EK_STRUCT *p)
{
    const ek_vf bias = ek_vf_load(b, lanes);
    ek_vf half[2][5];
    EK_UNROLLED_FOR(5, int32_t j = 0; j < 5; j++) {
        ek_vf product[5];
        EK_UNROLLED_FOR(5, int32_t i = 0; i < 5; i++)
            product[i] = ek_vf_load(from + EK_FN_at(i, j, t, tiles, p->out_c), lanes);
        EK_FN_sums(product);
        half[0][j] = product[0];
        half[1][j] = product[1];
    }
    EK_UNROLLED_FOR(2, int32_t i = 0; i < 2; i++) {
        EK_FN_sums(half[i]);
        EK_UNROLLED_FOR(2, int32_t j = 0; j < 2; j++)
            if (i < rows && j < columns)
                ek_vf_store(y + (i * p->out_w + j) * p->out_c, lanes,
                    ek_vf_clamp(ek_vf_add(half[i][j], bias), p->lo, p->hi));
    }
}

/* A tile of x, all channels. */
EK_INLINE void EK_FN_tile_in(const EK_T *x, float *to, const int32_t t, const int32_t tiles,
    const int32_t top, const int32_t left, const int32_t is_inside, const struct EK_STRUCT *p)
{
    const int32_t whole = p->in_c / EK_VF_LANES * EK_VF_LANES;
    for (int32_t c = 0; c < whole; c += EK_VF_LANES)
        EK_FN_enter(x + c, to + c, t, tiles, top, left, is_inside, EK_VF_LANES, p);
    if (whole < p->in_c)
        EK_FN_enter(x + whole, to + whole, t, tiles, top, left, is_inside, p->in_c - whole, p);
}

/* A tile of y, all outputs. */
EK_INLINE void EK_FN_tile_out(const float *from, const EK_B *b, EK_T *y, const int32_t t, const int32_t tiles,
    const int32_t rows, const int32_t columns, const struct EK_STRUCT *p)
{
    const int32_t whole = p->out_c / EK_VF_LANES * EK_VF_LANES;
    for (int32_t o = 0; o < whole; o += EK_VF_LANES)
        EK_FN_leave(from + o, b + o, y + o, t, tiles, rows, columns, EK_VF_LANES, p);
    if (whole < p->out_c)
        EK_FN_leave(from + whole, b + whole, y + whole, t, tiles, rows, columns, p->out_c - whole, p);
}

/* The products of the matrix for weights `a` down and `b` across, which has so many rows. */
EK_INLINE void EK_FN_products(const float *x, const float *w, float *y, const int32_t a, const int32_t b,
    const int32_t tiles, const int32_t rows, const struct EK_STRUCT *p)
{
    const int32_t outputs = (p->out_c + EK_VF_LANES - 1) / EK_VF_LANES * EK_VF_LANES;
    const float *weights = w + (4 * a + b) * outputs * p->in_c, *from = x + EK_FN_at(a, b, 0, tiles, p->in_c);
    float *to = y + EK_FN_at(a, b, 0, tiles, p->out_c);
    for (int32_t o = 0; o < p->out_c; o += EK_VF_PART) {
        const int32_t rest = p->out_c - o, width = rest < EK_VF_PART ? rest : EK_VF_PART;
        const struct ek_window_f32 s = {1, 1, p->in_c, 0, 0, 1, 0, EK_VF_LANES, p->in_c * EK_VF_LANES, 0,
            width, EK_F32_KIND, -EK_INF_f32, EK_INF_f32};
        ek_line_f32(
            from, (const uint8_t *)(weights + o * p->in_c), 0, 0, to + o, p->in_c, p->out_c, rows, &s);
    }
}

/* `count` rows of tiles from pixel row h on. */
EK_INLINE void EK_FN_band(const EK_T *x, const float *w, const EK_B *b, EK_T *y, float *work, const int32_t h,
    const int32_t count, const struct EK_STRUCT *p)
{
    const int32_t across = (p->out_w + 1) / 2, tiles = count * across;
    float *sums = work + 25 * tiles * p->in_c + 256;
    for (int32_t t = 0; t < tiles; t++) {
        const int32_t top = 2 * h + t / across * 4 - p->pad_top, left = t % across * 4 - p->pad_left;
        if (top >= 0 && left >= 0 && top + 5 <= p->in_h && left + 5 <= p->in_w)
            EK_FN_tile_in(x, work, t, tiles, top, left, 1, p);
        else
            EK_FN_tile_in(x, work, t, tiles, top, left, 0, p);
    }
    for (int32_t k = 0; k < 9; k++)
        EK_FN_products(work, w, sums, k / 3, k % 3, tiles, tiles, p);
    for (int32_t k = 0; k < 6; k++)
        EK_FN_products(work, w, sums, k < 3 ? k : 3, k < 3 ? 3 : k - 3, tiles, 2 * tiles, p);
    EK_FN_products(work, w, sums, 3, 3, tiles, 4 * tiles, p);
    for (int32_t t = 0; t < tiles; t++) {
        const int32_t top = h + t / across * 2, left = t % across * 2;
        EK_T *to = y + (top * p->out_w + left) * p->out_c;
        if (top + 2 <= p->out_h && left + 2 <= p->out_w)
            EK_FN_tile_out(sums, b, to, t, tiles, 2, 2, p);
        else
            EK_FN_tile_out(sums, b, to, t, tiles, p->out_h - top, p->out_w - left, p);
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_T *EK_RESTRICT y, uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    /* Bands are about as high, so that none has few tiles: few split each sum, which rounds differently. */
    const int32_t down = (p->out_h + 1) / 2, across = (p->out_w + 1) / 2, most = (15 + across) / across;
    const int32_t bands = (down + most - 1) / most;
    float *work = (float *)(void *)scratch;
    const float *weights = (const float *)(const void *)w;
    for (int32_t n = 0; n < p->batch;
        n++, x += p->in_h * p->in_w * p->in_c, y += p->out_h * p->out_w * p->out_c) {
        for (int32_t k = 0; k < bands; k++) {
            const int32_t t = down * k / bands;
            EK_FN_band(x, weights, b, y, work, 2 * t, down * (k + 1) / bands - t, p);
        }
    }
}
