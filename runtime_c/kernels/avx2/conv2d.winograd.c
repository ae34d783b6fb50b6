/* Convolution of 3 by 3 cells by Winograd's algorithm F(4x4, 3x3). A tile of 4 by 4 pixels takes 36 products of two
 * channels, not 144. Its 6 by 6 cells are evaluated as polynomials at 0, +-sqrt(1/2), +-sqrt(2) and infinity in each
 * direction; those of the weights are packed, four times as many as weights, so that two tiles or more must share them.
 * Results round a little more than sums do.
 * @for T=f32 W=f32 B=f32 @also conv2d_add @apart
 * @when k_h == 3 and k_w == 3 and stride_h == 1 and stride_w == 1 and dilation_h == 1 and dilation_w == 1
 * @when groups == 1 and step_c == 1 and out_h * out_w >= 32 and in_c * out_c <= 16384
 * @pack w: winograd H W O/8! I o8
 * @scratch 144 * (min((out_h + 3) // 4,
 * @scratch ((7 if in_c + out_c <= 36 and out_w > 28 else 15) + (out_w + 3) // 4) // ((out_w + 3) // 4))
 * @scratch * ((out_w + 3) // 4) * (in_c + out_c) + 32) @split out_h/4
 * @split out_h >= 4 + 4 * ((2 if (out_c - 1) % 64 >= 16 and (out_c - 1) % 16 >= 8 else 4) // ((out_w + 3) // 4))
 * @count across: (out_w + 3) // 4
 * @count down: (out_h + 3) // 4
 * @count most: ((7 if in_c + out_c <= 36 and out_w > 28 else 15) + across) // across
 * @count bands: -(-down // most)
 * @count tiles: batch * down * across
 * @count lanes: 8
 * @count vectors: (out_c + lanes - 1) // lanes
 * @count parts: (out_c + 15) // 16
 * @count width: 12 if out_c <= 8 else 6
 * @count input tiles: tiles * ((in_c + lanes - 1) // lanes)
 * @count output tiles: tiles * vectors
 * @count weight vectors: 36 * batch * bands * -(-(-(-down // bands) * across) // width) * vectors * in_c
 * @count broadcasts: 36 * tiles * parts * in_c
 * @count product vectors: 36 * tiles * vectors * in_c
 * @work broadcasts 1.05, input tiles 416, output tiles 212, product vectors 1.62, weight vectors 0.304 */
/* Convolution by Winograd's algorithm with weights of 16 bits. Their points are stored in 32 bits, as they would not
 * be exact: for small layers only.
 * @as avx2/conv2d.winograd_bf16 W=bf16 @without when in_c * out_c <= 16384 @when in_c * out_c <= 4096
 * @work broadcasts 1.59, input tiles 431, output tiles 266, product vectors 1.3
 * @as avx512/conv2d.winograd_bf16 like avx2/conv2d.winograd_bf16 @pack w: winograd H W O/16! I o16
 * @count lanes: 16
 * @count parts: (out_c + 63) // 64
 * @count width: 16 if out_c <= 16 else 12 if out_c <= 32 else 8 if out_c <= 48 else 6
 * @work input tiles 584, product vectors 1.9 */
/* Convolution by Winograd's algorithm with AVX-512.
 * @as avx512/conv2d.winograd @pack w: winograd H W O/16! I o16
 * @count lanes: 16
 * @count parts: (out_c + 63) // 64
 * @count width: 16 if out_c <= 16 else 12 if out_c <= 32 else 8 if out_c <= 48 else 6
 * @work input tiles 354, output tiles 163, product vectors 1.88, weight vectors 1.68 */
#include "edgekit/contracts/conv2d.h"
#include "edgekit/loops/pixel_rows_f32.h"
#include "edgekit/loops/winograd_f32.h"

/* The channels in `lanes` of the tile whose first cell is (top, left), evaluated. */
EK_INLINE void EK_FN_enter(const EK_T *x, float *to, const int32_t top, const int32_t left,
    const int32_t is_inside, const int32_t lanes, const int32_t step, const struct EK_STRUCT *p)
{
    ek_vf half[6][6];
    EK_UNROLLED_FOR(6, int32_t j = 0; j < 6; j++) {
        const int32_t column = left + j, is_here = is_inside || (column >= 0 && column < p->in_w);
        ek_vf cell[6];
        EK_UNROLLED_FOR(6, int32_t i = 0; i < 6; i++) {
            const int32_t row = top + i;
            cell[i] = ek_vf_set(0);
            if (is_inside || (is_here && row >= 0 && row < p->in_h))
                cell[i] = ek_vf_load(x + row * p->step_h + column * p->step_w, lanes);
        }
        ek_winograd_enter(cell);
        EK_UNROLLED_FOR(6, int32_t i = 0; i < 6; i++)
            half[i][j] = cell[i];
    }
    EK_UNROLLED_FOR(6, int32_t i = 0; i < 6; i++) {
        ek_winograd_enter(half[i]);
        EK_UNROLLED_FOR(6, int32_t j = 0; j < 6; j++)
            ek_vf_store(to + (6 * i + j) * step, lanes, half[i][j]);
    }
}

/* The outputs in `lanes` of a tile, of which `rows` and `columns` are inside. */
EK_INLINE void EK_FN_leave(const float *from, const EK_B *b, EK_IF_R(const EK_T *r, ) EK_T *y,
    const int32_t rows, const int32_t columns, const int32_t lanes, const int32_t step,
    const struct EK_STRUCT *p)
{
    const ek_vf bias = ek_vf_load(b, lanes);
    ek_vf half[4][6];
    EK_UNROLLED_FOR(6, int32_t j = 0; j < 6; j++) {
        ek_vf point[6];
        EK_UNROLLED_FOR(6, int32_t i = 0; i < 6; i++)
            point[i] = ek_vf_load(from + (6 * i + j) * step, lanes);
        ek_winograd_leave(point);
        EK_UNROLLED_FOR(4, int32_t i = 0; i < 4; i++)
            half[i][j] = point[i];
    }
    EK_UNROLLED_FOR(4, int32_t i = 0; i < 4; i++) {
        ek_winograd_leave(half[i]);
        EK_UNROLLED_FOR(4, int32_t j = 0; j < 4; j++)
            if (i < rows && j < columns) {
                const int32_t at = (i * p->out_w + j) * p->out_c;
                ek_vf sum = ek_vf_add(half[i][j], bias);
                EK_IF_R(sum = ek_vf_add(sum, ek_vf_load(r + at, lanes));)
                ek_vf_store(y + at, lanes, ek_vf_clamp(sum, p->lo, p->hi));
            }
    }
}

/* A tile of x, all channels. */
EK_INLINE void EK_FN_tile_in(const EK_T *x, float *to, const int32_t top, const int32_t left,
    const int32_t is_inside, const int32_t step, const struct EK_STRUCT *p)
{
    const int32_t whole = p->in_c / EK_VF_LANES * EK_VF_LANES;
    for (int32_t c = 0; c < whole; c += EK_VF_LANES)
        EK_FN_enter(x + c, to + c, top, left, is_inside, EK_VF_LANES, step, p);
    if (whole < p->in_c)
        EK_FN_enter(x + whole, to + whole, top, left, is_inside, p->in_c - whole, step, p);
}

/* A tile of y, all outputs. */
EK_INLINE void EK_FN_tile_out(const float *from, const EK_B *b, EK_IF_R(const EK_T *r, ) EK_T *y,
    const int32_t rows, const int32_t columns, const int32_t step, const struct EK_STRUCT *p)
{
    const int32_t whole = p->out_c / EK_VF_LANES * EK_VF_LANES;
    for (int32_t o = 0; o < whole; o += EK_VF_LANES)
        EK_FN_leave(from + o, b + o, EK_IF_R(r + o, ) y + o, rows, columns, EK_VF_LANES, step, p);
    if (whole < p->out_c)
        EK_FN_leave(from + whole, b + whole, EK_IF_R(r + whole, ) y + whole, rows, columns, p->out_c - whole,
            step, p);
}

/* The products of one of the 36 points: a matrix of tiles and channels by one of channels and outputs. */
EK_INLINE void EK_FN_products(
    const float *x, const float *w, float *y, const int32_t tiles, const struct EK_STRUCT *p)
{
    for (int32_t o = 0; o < p->out_c; o += EK_VF_PART) {
        const int32_t rest = p->out_c - o;
        const struct ek_window_f32 s = {1, 1, p->in_c, 0, 0, 1, 0, EK_VF_LANES, p->in_c * EK_VF_LANES, 0,
            rest < EK_VF_PART ? rest : EK_VF_PART, EK_F32_KIND, -EK_INF_f32, EK_INF_f32};
        ek_line_f32(x, (const uint8_t *)(w + o * p->in_c), 0, 0, y + o, p->in_c, p->out_c, tiles, &s);
    }
}

/* `count` rows of tiles from pixel row h on. */
EK_INLINE void EK_FN_band(const EK_T *x, const float *w, const EK_B *b, EK_IF_R(const EK_T *r, ) EK_T *y,
    float *work, const int32_t h, const int32_t count, const struct EK_STRUCT *p)
{
    const int32_t across = (p->out_w + 3) / 4, tiles = count * across;
    const int32_t x_step = tiles * p->in_c + 16,
                  y_step = tiles * p->out_c + 16; /* not all in one cache set */
    float *sums = work + 36 * x_step;
    for (int32_t t = 0; t < tiles; t++) {
        const int32_t top = h + t / across * 4 - p->pad_top, left = t % across * 4 - p->pad_left;
        if (top >= 0 && left >= 0 && top + 6 <= p->in_h && left + 6 <= p->in_w)
            EK_FN_tile_in(x, work + t * p->in_c, top, left, 1, x_step, p);
        else
            EK_FN_tile_in(x, work + t * p->in_c, top, left, 0, x_step, p);
    }
    const int32_t outputs = (p->out_c + EK_VF_LANES - 1) / EK_VF_LANES * EK_VF_LANES;
    for (int32_t k = 0; k < 36; k++)
        EK_FN_products(work + k * x_step, w + k * outputs * p->in_c, sums + k * y_step, tiles, p);
    for (int32_t t = 0; t < tiles; t++) {
        const int32_t top = h + t / across * 4, left = t % across * 4;
        const int32_t at = (top * p->out_w + left) * p->out_c;
        if (top + 4 <= p->out_h && left + 4 <= p->out_w)
            EK_FN_tile_out(sums + t * p->out_c, b, EK_IF_R(r + at, ) y + at, 4, 4, y_step, p);
        else
            EK_FN_tile_out(
                sums + t * p->out_c, b, EK_IF_R(r + at, ) y + at, p->out_h - top, p->out_w - left, y_step, p);
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_B *EK_RESTRICT b,
    EK_IF_R(const EK_T *EK_RESTRICT r, ) EK_T *EK_RESTRICT y, uint8_t *EK_RESTRICT scratch,
    const struct EK_STRUCT *p)
{
    /* Bands are about as high, so that none has few tiles: few split each sum, which rounds differently. Where there
     * are few channels, the points of one row of tiles stay in the first cache. */
    const int32_t down = (p->out_h + 3) / 4, across = (p->out_w + 3) / 4;
    const int32_t tiles = p->in_c + p->out_c <= 36 && p->out_w > 28 ? 8 : 16;
    const int32_t most = (tiles - 1 + across) / across, bands = (down + most - 1) / most;
    float *work = (float *)(void *)scratch;
    const float *weights = (const float *)(const void *)w;
    for (int32_t n = 0; n < p->batch;
        n++, x += p->in_h * p->in_w * p->in_c, y += p->out_h * p->out_w * p->out_c) {
        for (int32_t k = 0; k < bands; k++) {
            const int32_t t = down * k / bands;
            EK_FN_band(x, weights, b, EK_IF_R(r, ) y, work, 4 * t, down * (k + 1) / bands - t, p);
        }
        EK_IF_R(r += p->out_h * p->out_w * p->out_c;)
    }
}
