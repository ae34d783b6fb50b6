/* Largest pixels of the cells of boxes. */
#include "edgekit/contracts/max_roi_pool.h"

/* Pixels along one side: from `first` on, without `end`. */
struct EK_FN_side {
    int32_t first;
    int32_t end;
};

/* A number between two others; NaN is the lower one. */
EK_INLINE EK_T_ACC EK_FN_within(const EK_T_ACC at, const int32_t low, const int32_t high)
{
    return at > (EK_T_ACC)low ? at < (EK_T_ACC)high ? at : (EK_T_ACC)high : (EK_T_ACC)low;
}

EK_INLINE int32_t EK_FN_pixel(const EK_T_ACC at, const struct EK_STRUCT *p)
{
    const EK_T_ACC near = EK_FN_within(at * p->scale, -p->farthest, p->farthest);
    const int32_t whole = (int32_t)near;
    const EK_T_ACC rest = near - (EK_T_ACC)whole;
    return whole + (rest >= (EK_T_ACC)0.5) - (rest <= (EK_T_ACC)-0.5);
}

/* What lies inside of an image with `size` pixels of cell number `cell` of a side. */
EK_INLINE struct EK_FN_side EK_FN_cell(const EK_T_ACC begin, const EK_T_ACC end, const int32_t cell,
    const int32_t cells, const int32_t size, const struct EK_STRUCT *p)
{
    const int32_t start = EK_FN_pixel(begin, p), pixels = EK_FN_pixel(end, p) - start + 1;
    const EK_T_ACC step = (EK_T_ACC)(pixels > 1 ? pixels : 1) / (EK_T_ACC)cells;
    const EK_T_ACC upper = (EK_T_ACC)(cell + 1) * step;
    struct EK_FN_side side;
    side.first = start + (int32_t)((EK_T_ACC)cell * step);
    side.end = start + (int32_t)upper + ((EK_T_ACC)(int32_t)upper < upper);
    side.first = side.first < 0 ? 0 : side.first;
    side.end = side.end > size ? size : side.end;
    return side;
}

EK_KERNEL void EK_FN(
    const EK_T *EK_RESTRICT x, const EK_T *EK_RESTRICT boxes, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->boxes; r++, boxes += 5) {
        const int32_t image = (int32_t)EK_FN_within(EK_LOAD_T(boxes[0]), 0, p->batch - 1);
        const EK_T *plane = x + image * p->in_h * p->in_w * p->channels;
        for (int32_t h = 0; h < p->out_h; h++) {
            const struct EK_FN_side rows =
                EK_FN_cell(EK_LOAD_T(boxes[2]), EK_LOAD_T(boxes[4]), h, p->out_h, p->in_h, p);
            for (int32_t w = 0; w < p->out_w; w++, y += p->channels) {
                const struct EK_FN_side columns =
                    EK_FN_cell(EK_LOAD_T(boxes[1]), EK_LOAD_T(boxes[3]), w, p->out_w, p->in_w, p);
                const int is_empty = rows.first >= rows.end || columns.first >= columns.end;
                for (int32_t c = 0; c < p->channels; c++)
                    y[c] = EK_STORE_T(is_empty ? 0 : p->start);
                for (int32_t i = rows.first; i < rows.end; i++)
                    for (int32_t j = columns.first; j < columns.end; j++) {
                        const EK_T *pixel = plane + (i * p->in_w + j) * p->channels;
                        for (int32_t c = 0; c < p->channels; c++)
                            y[c] = EK_LOAD_T(pixel[c]) > EK_LOAD_T(y[c]) ? pixel[c] : y[c];
                    }
            }
        }
    }
}
