/* Non-maximum suppression. Candidates are in a heap, from which only as many are taken as it needs; the boxes that
 * were selected are at the other end of its memory. */
#include "edgekit/contracts/non_max_suppression.h"

/* What the heap has on top: the best score, of equal ones the earlier box. */
EK_INLINE int EK_FN_before(const EK_T_ACC *EK_RESTRICT key, const int32_t a, const int32_t b)
{
    return key[a] > key[b] || (key[a] == key[b] && a < b);
}

/* Lets the box at `at` go down to its place. */
EK_INLINE void EK_FN_sift(
    const EK_T_ACC *EK_RESTRICT key, int32_t *EK_RESTRICT heap, int32_t at, const int32_t n)
{
    const int32_t box = heap[at];
    for (int32_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && EK_FN_before(key, heap[child + 1], heap[child]))
            child++;
        if (!EK_FN_before(key, heap[child], box))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = box;
}

EK_INLINE int EK_FN_counts(const EK_T_ACC score, const EK_T_ACC least, const struct EK_STRUCT *p)
{
    return p->least_counts ? score >= least : score > least;
}

/* Where a box begins and ends along an axis. */
EK_INLINE void EK_FN_side(
    const float *box, const int32_t axis, const int32_t centered, float *low, float *high)
{
    const float first = box[axis], second = box[axis + 2];
    if (centered) {
        const float half = second / 2;
        *low = first - half;
        *high = first + half;
    } else {
        *low = second < first ? second : first;
        *high = first < second ? second : first;
    }
}

/* Intersection over union. */
EK_INLINE float EK_FN_overlap(const float *a, const float *b, const int32_t centered)
{
    float area_a = 1, area_b = 1, shared = 1;
    for (int32_t axis = 0; axis < 2; axis++) {
        float low_a, high_a, low_b, high_b;
        EK_FN_side(a, axis, centered, &low_a, &high_a);
        EK_FN_side(b, axis, centered, &low_b, &high_b);
        area_a *= high_a - low_a;
        area_b *= high_b - low_b;
        const float inside = (high_b < high_a ? high_b : high_a) - (low_a < low_b ? low_b : low_a);
        shared *= inside > 0 ? inside : 0;
    }
    const float both = area_a + area_b - shared;
    return area_a > 0 && area_b > 0 && shared > 0 && both > 0 ? shared / both : 0;
}

/* The class in which a box has its best score. */
EK_INLINE int32_t EK_FN_class(const EK_T *EK_RESTRICT score, const struct EK_STRUCT *p)
{
    int32_t best = 0;
    for (int32_t c = 1; c < p->classes; c++)
        if (EK_LOAD_T(score[c * p->score_class]) > EK_LOAD_T(score[best * p->score_class]))
            best = c;
    return best;
}

/* Compares a candidate with the boxes selected since the last time, the latest first: is it dropped? */
EK_INLINE int EK_FN_dropped(const float *EK_RESTRICT boxes, const int32_t *chosen, const int32_t since,
    const int32_t selected, const int32_t box, const float limit, const EK_T_ACC least,
    EK_T_ACC *EK_RESTRICT key, const struct EK_STRUCT *p)
{
    for (int32_t k = selected - 1; k >= since; k--) {
        const float overlap = EK_FN_overlap(boxes + 4 * box, boxes + 4 * chosen[-k], p->centered);
        if (p->limit_drops ? overlap >= limit : overlap > limit)
            return 1;
        if (p->decay < 0) {
            const EK_T_ACC a = key[box];
            key[box] = EK_EXPR;
            if (!EK_FN_counts(key[box], least, p))
                return 1;
        }
    }
    return 0;
}

/* Puts a row into its place, of equal scores behind the others; 0 where there is no room. */
EK_INLINE int EK_FN_insert(const int64_t *EK_RESTRICT row, const EK_T_ACC score, int64_t *EK_RESTRICT rows,
    EK_T *EK_RESTRICT selected, int64_t *EK_RESTRICT count, const struct EK_STRUCT *p)
{
    int32_t at = (int32_t)*count;
    if (p->ranked)
        while (at > 0 && score > EK_LOAD_T(selected[at - 1]))
            at--;
    if (at == p->total)
        return 0;
    *count += *count < p->total;
    for (int32_t m = (int32_t)*count - 1; m > at; m--) {
        selected[m] = selected[m - 1];
        for (int32_t i = 0; i < 3; i++)
            rows[3 * m + i] = rows[3 * m - 3 + i];
    }
    selected[at] = EK_STORE_T(score);
    for (int32_t i = 0; i < 3; i++)
        rows[3 * at + i] = row[i];
    return 1;
}

EK_KERNEL void EK_FN(const float *EK_RESTRICT boxes, const EK_T *EK_RESTRICT scores,
    const float *EK_RESTRICT limit, const EK_T *EK_RESTRICT least, int64_t *EK_RESTRICT rows,
    EK_T *EK_RESTRICT selected, int64_t *EK_RESTRICT count, EK_T_ACC *EK_RESTRICT work,
    const struct EK_STRUCT *p)
{
    const int32_t n = p->boxes;
    EK_T_ACC *const key = work;
    int32_t *const heap = (int32_t *)(void *)(work + n);
    int32_t *const seen = heap + n; /* boxes that each was compared with; with decay only */
    int32_t *const chosen = heap + n - 1; /* downwards */
    *count = 0;
    for (int32_t b = 0; b < p->batch; b++, boxes += 4 * n)
        for (int32_t g = 0; g < p->groups; g++) {
            const EK_T *score = scores + p->first + b * p->score_batch + g * p->score_class;
            int32_t open = 0, taken = 0;
            for (int32_t i = 0; i < n; i++) {
                const EK_T *own = score + i * p->score_box;
                key[i] = EK_LOAD_T(own[EK_FN_class(own, p) * p->score_class]);
                if (EK_FN_counts(key[i], EK_LOAD_T(*least), p))
                    heap[open++] = i;
                if (p->decay < 0)
                    seen[i] = 0;
            }
            for (int32_t at = open / 2; at-- > 0;)
                EK_FN_sift(key, heap, at, open);
            while (open > 0 && taken < p->per_class) {
                const int32_t box = heap[0];
                const EK_T_ACC before = key[box];
                const int32_t since = p->decay < 0 ? seen[box] : 0;
                const int dropped =
                    EK_FN_dropped(boxes, chosen, since, taken, box, *limit, EK_LOAD_T(*least), key, p);
                if (!dropped && key[box] < before) { /* it competes again */
                    seen[box] = taken;
                } else {
                    heap[0] = heap[--open];
                    if (!dropped) {
                        const EK_T *own = score + box * p->score_box;
                        const int64_t row[3] = {b, p->classes > 1 ? EK_FN_class(own, p) : g, box};
                        chosen[-taken++] = box;
                        if (!EK_FN_insert(row, before, rows, selected, count, p))
                            break; /* the others are no better */
                    }
                }
                if (open > 0)
                    EK_FN_sift(key, heap, 0, open);
            }
        }
    for (int32_t m = (int32_t)*count; m < p->total; m++) {
        selected[m] = EK_STORE_T(0);
        for (int32_t i = 0; i < 3; i++)
            rows[3 * m + i] = 0;
    }
}
