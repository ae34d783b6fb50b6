/* Convolution of int8 with windows of 3 by 3 cells and DSP instructions, by Winograd's algorithm: see winograd_dsp.h.
 * Two tiles at a time, those of an image one behind the other; a tile that reaches beyond the image is copied.
 * @for X=s8 W=s8 Y=s8 S=s32 @rule tfl=tile_tfl tfl_up=tile_tfl_up e=tile_e e_wide=tile_e
 * @when k_h == 3 and k_w == 3 and stride_h == 1 and stride_w == 1 and dilation_h == 1 and dilation_w == 1
 * @when groups == 1 and step_c == 1 and in_c % 4 == 0 and acc_bits + weight_shift <= 28
 * @when weight_shift <= 4 @pack w: tiles O/4! H W I/4! i4/2(0213) o4 i2 : s16 x{1 << weight_shift}
 * @pack b: O/4! o4 : s32 x{4 << weight_shift} @pack e: O : s8 x-1 +-{1 + weight_shift}
 * @scratch 64 * in_c + max(512, 16 * in_c) @order lines {out_c} 2
 * @count high: (out_h + 1) // 2
 * @count across: (out_w + 1) // 2
 * @count inside: max(0, min(high, (in_h + pad_top - 2) // 2) - (pad_top + 1) // 2)
 * @count inside: * max(0, min(across, (in_w + pad_left - 2) // 2) - (pad_left + 1) // 2)
 * @count tiles: batch * ((high * across + 1) // 2 * 2)
 * @count copied tiles: batch * (high * across - inside)
 * @count copied cells: batch * (high * across - inside) * in_c
 * @count tile cells: batch * high * across * in_c
 * @count tile outputs: batch * high * across * out_c
 * @count tile blocks: tiles * ((out_c + 3) // 4)
 * @count tile blocks beside 16 channels: tiles * ((out_c + 3) // 4) * (in_c != 16)
 * @count tile products: tiles * ((out_c + 3) // 4) * in_c
 * @loads w: batch * ((high * across + 1) // 2)
 * @work clamped outputs, copied tiles, copied cells, tile cells, tile outputs, tile blocks
 * @work tile blocks beside 16 channels, tile products */
/* Convolution and a sum by factors.
 * @as dsp/conv2d_add_int.winograd @without order @when add[3] > 1
 * @rule tfl=tile_sum_tfl tfl_up=tile_sum_tfl_up e=tile_sum_e e_wide=tile_sum_e
 * @work copied tiles, copied cells, tile cells, tile outputs, tile blocks
 * @work tile blocks beside 16 channels, tile products */
#include "edgekit/contracts/conv2d_int.h"

EK_KERNEL void EK_FN(const EK_X *x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_IF_R(const EK_Y *r, ) EK_Y *y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t across = (p->out_w + 1) / 2, count = (p->out_h + 1) / 2 * across;
    const int32_t size = p->out_h * p->out_w * p->out_c;
    uint32_t *const cells = (uint32_t *)(void *)scratch;
    int32_t *const sums = (int32_t *)(void *)(cells + 16 * p->in_c);
    const struct ek_window window = {
        p->in_h, p->in_w, p->in_c, p->step_h, p->step_w, 1, 4, 4, 1, 1, p->in_zero};
    struct ek_tile_results results = {m, e, 0, 0, {0}, {0}, p->out_c, 0};
    EK_IF_R(const struct ek_tile_sum sum = {p->lo > -128 || p->hi < 127, p->lo, p->hi, p->add[0], p->add[1],
                p->add[2], p->add[3], (int32_t)((uintptr_t)r - (uintptr_t)y)};)
    EK_IF_R(results.sum = &sum;)
    EK_RULE(constants)(e, p->zero, &results.offset, &results.shift);
    for (int32_t n = 0; n < p->batch; n++) {
        for (int32_t t = 0; t < count; t += 2) {
            results.other[2] = 0;
            for (int32_t k = 0; k < 2 && t + k < count; k++) {
                const int32_t h = (t + k) / across * 2, v = (t + k) % across * 2;
                const int32_t right = v + 1 < p->out_w ? p->out_c : 0;
                const int32_t down = h + 1 < p->out_h ? p->out_w * p->out_c : 0;
                ek_tile_gather(x, h - p->pad_top, v - p->pad_left, (int8_t *)sums, cells + k, &window);
                ek_tile_places(
                    y + (h * p->out_w + v) * p->out_c, right, down, k ? results.other : results.one);
            }
            struct ek_tile_pair layer = {w, b, 64 * p->in_c};
            for (int32_t o = 0; o < p->out_c; o += 4, layer.w += 64 * p->in_c, layer.b += 4) {
                ek_tile_products_of((const int32_t *)(const void *)cells, sums, &layer, p->in_c);
                EK_RULE(results)(sums, o, &results);
            }
        }
        x += p->in_h * p->in_w * p->in_c;
        y += size;
    }
    int32_t whole = p->batch * size, lo = p->lo, hi = p->hi;
    EK_IF_R(lo = p->add[4];)
    EK_IF_R(hi = p->add[5];)
    ek_clamp_numbers(y - whole, whole, lo, hi, sizeof(EK_Y));
}
