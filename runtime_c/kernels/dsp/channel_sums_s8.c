/* Sums of the channels of an image with DSP instructions, some of its rows at a time: see pool_dsp.h. Eight channels advance
 * together, over at most 256 pixels.
 * @apart @work calls 35, outputs 6.4, inputs 1.28 */
#include "edgekit/contracts/channel_sums_s8.h"

static EK_SHARED void EK_FN_run(
    const int8_t *EK_RESTRICT x, const int32_t *y0, int32_t *y, const struct EK_STRUCT *p)
{
    const int32_t channels = p->channels;
    for (int32_t c = 0; y0 != y && c < channels; c++)
        y[c] = y0[0];
    for (int32_t n = p->n; n > 0; n -= 256, x += 256 * channels) {
        struct ek_cells cells = {1, n < 256 ? n : 256, 0, channels};
        int32_t total[8], c = 0;
        for (; c + 8 <= channels; c += 8)
            ek_add_cells(x + c, cells.columns, channels, y + c);
        ek_totals(&cells, x + c, total, channels - c);
        for (int32_t i = 0; c < channels; c++, i++)
            y[c] += total[i];
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const int32_t *y0, int32_t *y, const struct EK_STRUCT *p)
{
    EK_FN_run(x, y0, y, p);
}
