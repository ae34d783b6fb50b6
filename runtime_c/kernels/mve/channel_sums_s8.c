/* Sums of the channels of an image with Helium, some of its rows at a time: see window_cells_mve.h. Four channels advance
 * together.
 * @apart @work calls 7, outputs 2.5, inputs 0.77 */
#include "edgekit/contracts/channel_sums_s8.h"

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const int32_t *y0, int32_t *y, const struct EK_STRUCT *p)
{
    const int32_t channels = p->channels, is_first = y0 != y;
    for (int32_t c = 0; c < channels; c += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)(channels - c));
        const int32x4_t before = is_first ? vdupq_n_s32(y0[0]) : vldrwq_z_s32(y + c, lanes);
        vstrwq_p_s32(y + c, ek_mve_sums_with(before, x + c, p->n, channels, lanes), lanes);
    }
}
