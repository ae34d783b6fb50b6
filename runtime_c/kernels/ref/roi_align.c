/* Sampled boxes. Sixteen channels of a cell advance together. */
#include "edgekit/contracts/roi_align.h"

/* The samples along one side of a cell: `n` of them, the first at `first`, `step` apart. */
struct EK_FN_side {
    int32_t n;
    EK_T_ACC first;
    EK_T_ACC step;
};

EK_INLINE struct EK_FN_side EK_FN_side_of(
    EK_T_ACC begin, EK_T_ACC end, const int32_t cell, const int32_t cells, const struct EK_STRUCT *p)
{
    begin = begin * p->scale - p->shift;
    end = end * p->scale - p->shift;
    EK_T_ACC size = end - begin;
    if (p->shift == 0 && !(size >= 1))
        size = 1;
    size /= (EK_T_ACC)cells;
    struct EK_FN_side side;
    side.n = p->samples;
    if (side.n == 0) {
        const EK_T_ACC most = (EK_T_ACC)p->most_samples;
        const EK_T_ACC wanted = size > 0 ? (size < most ? size : most) : 0;
        side.n = (int32_t)wanted;
        side.n += (EK_T_ACC)side.n < wanted;
    }
    side.step = size / (EK_T_ACC)(side.n > 1 ? side.n : 1);
    side.first = begin + (EK_T_ACC)cell * size + side.step / 2;
    return side;
}

/* The pixel before a coordinate within -1 ... n, and in *rest how far it is to the next. */
EK_INLINE int32_t EK_FN_before(const EK_T_ACC at, const int32_t n, EK_T_ACC *rest)
{
    const EK_T_ACC inside = at > 0 ? at : 0;
    const int32_t low = (int32_t)inside;
    *rest = low >= n - 1 ? 0 : inside - (EK_T_ACC)low;
    return low >= n - 1 ? n - 1 : low;
}

/* `width` channels of one cell. */
EK_INLINE void EK_FN_cell(const EK_T *EK_RESTRICT x, EK_T *EK_RESTRICT y, const struct EK_FN_side rows,
    const struct EK_FN_side columns, const int32_t width, const struct EK_STRUCT *p)
{
    EK_T_ACC result[16] = {0};
    for (int32_t i = 0; i < rows.n; i++) {
        for (int32_t j = 0; j < columns.n; j++) {
            const EK_T_ACC row = rows.first + (EK_T_ACC)i * rows.step;
            const EK_T_ACC column = columns.first + (EK_T_ACC)j * columns.step;
            EK_T_ACC down = 0, across = 0;
            int32_t top = 0, left = 0;
            const int inside =
                row >= -1 && row <= (EK_T_ACC)p->in_h && column >= -1 && column <= (EK_T_ACC)p->in_w;
            if (inside) {
                top = EK_FN_before(row, p->in_h, &down);
                left = EK_FN_before(column, p->in_w, &across);
            }
            const int32_t bottom = down > 0 ? top + 1 : top, right = across > 0 ? left + 1 : left;
            const EK_T_ACC scale = inside ? 1 : 0;
            const EK_T_ACC weight[4] = {
                (1 - down) * (1 - across) * scale, (1 - down) * across, down * (1 - across), down * across};
            const EK_T *corner[4] = {x + (top * p->in_w + left) * p->channels,
                x + (top * p->in_w + right) * p->channels, x + (bottom * p->in_w + left) * p->channels,
                x + (bottom * p->in_w + right) * p->channels};
            for (int32_t k = 0; k < 4; k++)
                for (int32_t c = 0; c < width; c++) {
                    const EK_T_ACC v = weight[k] * EK_LOAD_T(corner[k][c]);
                    if (p->largest)
                        result[c] = (i == 0 && j == 0 && k == 0) || v > result[c] ? v : result[c];
                    else
                        result[c] += v;
                }
        }
    }
    const int32_t count = rows.n * columns.n;
    const EK_T_ACC divisor = p->largest || count == 0 ? 1 : (EK_T_ACC)count;
    for (int32_t c = 0; c < width; c++)
        y[c] = EK_STORE_T(result[c] / divisor);
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT boxes,
    const int64_t *EK_RESTRICT images, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->boxes; r++, boxes += 4) {
        const int64_t last = p->batch - 1;
        const int64_t image = images[r] < 0 ? 0 : images[r] > last ? last : images[r];
        const EK_T *plane = x + (int32_t)image * p->in_h * p->in_w * p->channels;
        for (int32_t h = 0; h < p->out_h; h++) {
            const struct EK_FN_side rows =
                EK_FN_side_of(EK_LOAD_T(boxes[1]), EK_LOAD_T(boxes[3]), h, p->out_h, p);
            for (int32_t w = 0; w < p->out_w; w++, y += p->channels) {
                const struct EK_FN_side columns =
                    EK_FN_side_of(EK_LOAD_T(boxes[0]), EK_LOAD_T(boxes[2]), w, p->out_w, p);
                int32_t c = 0;
                for (; c + 16 <= p->channels; c += 16)
                    EK_FN_cell(plane + c, y + c, rows, columns, 16, p);
                if (c < p->channels)
                    EK_FN_cell(plane + c, y + c, rows, columns, p->channels - c, p);
            }
        }
    }
}
