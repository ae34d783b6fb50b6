/* Non-maximum suppression. The candidates of a class are its boxes with a score beyond `least`. From the best score
 * down, of equal scores the earlier box first, each is selected whose overlap with all that were selected before is
 * within `limit`: intersection / union of the two boxes, 0 where one has no area.
 *
 * rows[m] = batch, class and box of the m-th selection, selected[m] its score, *count their number; from there on
 * rows and selected are 0. With decay, a score a becomes EK_EXPR for each box that was selected before, and competes
 * again. Takes time of batch groups (n log n + n per_class + per_class total) at most. */
#ifndef EDGEKIT_NON_MAX_SUPPRESSION_H
#define EDGEKIT_NON_MAX_SUPPRESSION_H

#include "edgekit/generic.h"

struct EK_STRUCT {
    int32_t batch;
    int32_t boxes; /* n, of each of the batch: y, x, y, x of two corners, or x, y, width, height */
    int32_t groups; /* sets of scores, apart from each other: one a class, or one of all */
    int32_t classes; /* scores that a box has in a group, of which the best counts */
    int32_t score_batch; /* elements from the scores of one of the batch to those of the next */
    int32_t score_class;
    int32_t score_box;
    int32_t first; /* element where scores begin */
    int32_t per_class; /* boxes that are selected of a group, at most n */
    int32_t total; /* rows there is room for */
    int32_t ranked; /* 1: the best of all groups, from the best down; 0: there is room for all */
    int32_t centered; /* 1: boxes are x, y, width, height */
    int32_t least_counts; /* 1: a score of `least` is a candidate */
    int32_t limit_drops; /* 1: an overlap of `limit` is too much */
    float decay; /* -1 / (2 sigma), 0: none */
};

/* work: n scores and n int32_t, and n int32_t more with decay. */
EK_KERNEL void EK_FN(const float *EK_RESTRICT boxes, const EK_T *EK_RESTRICT scores,
    const float *EK_RESTRICT limit, const EK_T *EK_RESTRICT least, int64_t *EK_RESTRICT rows,
    EK_T *EK_RESTRICT selected, int64_t *EK_RESTRICT count, EK_T_ACC *EK_RESTRICT work,
    const struct EK_STRUCT *p);

#endif
