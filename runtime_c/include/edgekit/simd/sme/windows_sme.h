/* Panels of the windows of a convolution (SME). Windows that lie inside of the image are read where they are; of others the rows
 * that leave it are gathered first. */
#ifndef EDGEKIT_WINDOWS_SME_H
#define EDGEKIT_WINDOWS_SME_H

#include "edgekit/simd/sme/panels_sme.h"

/* A convolution over bytes. `pieces` are sixteen rows of windows, or whole windows where a row is no multiple of four bytes. An
 * image with channels first has a plane for each. */
struct ek_sme_windows {
    const uint8_t *x;
    uint8_t *panel, *pieces;
    int32_t cell; /* bytes of the channels of a pixel, in one plane */
    int32_t fill; /* a byte, of which padding consists */
    int32_t planes, plane; /* how many, and bytes from one to the next */
    int32_t in_h, in_w, out_h, out_w, k_h, k_w;
    int32_t stride_h, stride_w, pad_top, pad_left, dilation_h, dilation_w;
};

/* Steps of a window with elements of so many bytes. */
EK_INLINE int32_t ek_sme_steps(
    const int32_t cells, const int32_t in_c, const int32_t step_c, const int32_t bytes)
{
    return step_c == 1 ? (cells * in_c * bytes + 3) / 4 : in_c * ((cells * bytes + 3) / 4);
}

/* Of the parameters of a convolution, with elements of so many bytes and so many steps. */
#define EK_SME_WINDOWS(p, x, scratch, bytes, fill, steps)                                                    \
    {(const uint8_t *)(x), (scratch), (scratch) + EK_SME_STEP * (steps),                                     \
        (p)->step_c == 1 ? (p)->in_c * (bytes) : (bytes), (fill), (p)->step_c == 1 ? 1 : (p)->in_c,          \
        (p)->step_c * (bytes), (p)->in_h, (p)->in_w, (p)->out_h, (p)->out_w, (p)->k_h, (p)->k_w,             \
        (p)->stride_h, (p)->stride_w, (p)->pad_top, (p)->pad_left, (p)->dilation_h, (p)->dilation_w}

EK_INLINED void ek_sme_fill(uint8_t *to, const int32_t bytes, const int32_t byte) EK_STREAMING
{
    for (int32_t i = 0; i < bytes; i += (int32_t)svcntb())
        svst1(svwhilelt_b8(i, bytes), to + i, svdup_u8((uint8_t)byte));
}

EK_INLINED void ek_sme_copy(uint8_t *to, const uint8_t *from, const int32_t bytes) EK_STREAMING
{
    for (int32_t i = 0; i < bytes; i += (int32_t)svcntb()) {
        const svbool_t some = svwhilelt_b8(i, bytes);
        svst1(some, to + i, svld1(some, from + i));
    }
}

/* A row of a window, of which a part may be outside. */
static EK_SHARED void ek_sme_gather(const struct ek_sme_windows *p, uint8_t *to, const uint8_t *image,
    const int32_t row, const int32_t left) EK_STREAMING
{
    const uint8_t *from = image + (int64_t)row * p->in_w * p->cell;
    if (row < 0 || row >= p->in_h)
        ek_sme_fill(to, p->k_w * p->cell, p->fill);
    else if (p->dilation_w == 1) {
        int32_t before = left < 0 ? -left : 0, end = p->in_w - left;
        before = before < p->k_w ? before : p->k_w;
        end = end < p->k_w ? end : p->k_w;
        end = end > before ? end : before;
        ek_sme_fill(to, before * p->cell, p->fill);
        ek_sme_copy(to + before * p->cell, from + (left + before) * p->cell, (end - before) * p->cell);
        ek_sme_fill(to + end * p->cell, (p->k_w - end) * p->cell, p->fill);
    } else
        for (int32_t j = 0; j < p->k_w; j++, to += p->cell) {
            const int32_t column = left + j * p->dilation_w;
            if (column < 0 || column >= p->in_w)
                ek_sme_fill(to, p->cell, p->fill);
            else
                ek_sme_copy(to, from + column * p->cell, p->cell);
        }
}

/* Windows of pixels from pixel `first` on, of all images. */
static EK_SHARED void ek_sme_pack_windows(
    const struct ek_sme_windows *p, const int32_t first, const int32_t rows) EK_STREAMING
{
    const int32_t length = p->k_w * p->cell, pitch = p->dilation_h * p->in_w * p->cell;
    const int whole = (p->k_w == 1 || p->dilation_w == 1) && (p->k_h == 1 || length % 4 == 0);
    const int32_t room = ((whole ? length : p->k_h * length) + 15) / 16 * 16;
    const int32_t last_top = p->in_h - (p->k_h - 1) * p->dilation_h, last_left = p->in_w - p->k_w + 1;
    const uint8_t *at[16], *from[16], *images[16];
    int32_t gathered[16], tops[16], lefts[16], count = 0; /* of pixels whose windows are gathered */
    int32_t line = first / p->out_w, v = first - line * p->out_w, n = line / p->out_h;
    int32_t top = (line - n * p->out_h) * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
    const int beside = v + rows <= p->out_w;
    const int64_t size = (int64_t)p->in_h * p->in_w * p->cell * p->planes;
    const uint8_t *image = p->x + n * size;
    uint8_t *to = p->panel;
    for (int32_t r = 0; r < rows; r++, left += p->stride_w) {
        if (v++ == p->out_w) {
            v = 1;
            left = -p->pad_left;
            top += p->stride_h;
            if (++line % p->out_h == 0) {
                top = -p->pad_top;
                image += size;
            }
        }
        at[r] = image;
        if (whole && top >= 0 && top < last_top && left >= 0 && left < last_left)
            at[r] += ((int64_t)top * p->in_w + left) * p->cell;
        else {
            images[count] = image;
            tops[count] = top;
            lefts[count] = left;
            gathered[count++] = r;
        }
    }
    for (int32_t c = 0; c < p->planes; c++) {
        const int64_t plane = (int64_t)c * p->plane;
        for (int32_t i = 0; i < p->k_h; i++) {
            const int64_t down = plane + (int64_t)i * pitch;
            if (count == 0 && beside) {
                to = ek_sme_pack(to, at[0] + down, (int64_t)p->stride_w * p->cell, rows, length);
                continue;
            }
            for (int32_t r = 0; r < rows; r++)
                from[r] = at[r] + down;
            for (int32_t k = 0; k < count; k++) {
                uint8_t *piece = p->pieces + gathered[k] * room + (whole ? 0 : i * length);
                ek_sme_gather(p, piece, images[k] + plane, tops[k] + i * p->dilation_h, lefts[k]);
                from[gathered[k]] = piece;
            }
            if (whole)
                to = ek_sme_pack_each(to, from, rows, length);
        }
        if (!whole)
            to = ek_sme_pack(to, p->pieces, room, rows, p->k_h * length);
    }
}

#endif
