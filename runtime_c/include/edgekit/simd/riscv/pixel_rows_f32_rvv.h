/* Sums of products of floats over lines of pixels, outputs along the lanes of vectors. The headers of vectors include this
 * text: EK_FLOATS is a vector, EK_GROUP(name) what they define for it. Nothing here knows how long registers are: `vl` outputs
 * are computed at once. */

/* Numbers between these bounds; what is no number stays, which vfmin and vfmax would drop. */
EK_INLINE EK_FLOATS EK_GROUP(clamp)(EK_FLOATS v, const float lo, const float hi, const size_t vl)
{
    if (lo > -EK_INF_f32)
        v = __riscv_vfmerge(v, lo, __riscv_vmflt(v, lo, vl), vl);
    if (hi < EK_INF_f32)
        v = __riscv_vfmerge(v, hi, __riscv_vmfgt(v, hi, vl), vl);
    return v;
}

/* a * b + sums */
EK_INLINE EK_FLOATS EK_GROUP(fma)(const EK_FLOATS sums, const EK_FLOATS a, const EK_FLOATS b, const size_t vl)
{
    return __riscv_vfmacc(sums, a, b, vl);
}

/* The results of a pixel. Where r is not null it is added, or is a scale of each output. */
EK_INLINE void EK_GROUP(finish)(float *y, EK_FLOATS sums, const float *r, const int32_t kind, const float lo,
    const float hi, const size_t vl)
{
    if (r && ek_is_scaled(kind))
        sums = __riscv_vfmul(sums, EK_GROUP(load)(r, vl), vl);
    else if (r)
        sums = __riscv_vfadd(sums, EK_GROUP(load)(r, vl), vl);
    __riscv_vse32(y, EK_GROUP(clamp)(sums, lo, hi, vl), vl);
}

#define EK_GROUP_ADD(k, s)                                                                                   \
    if (pixels > (k))                                                                                        \
        s = __riscv_vfmacc(s, cell[(k) * x_step], weights, vl);
#define EK_GROUP_TAP                                                                                         \
    const float *const cell = x + i * s->row_step + j * s->run_step + k * s->cell_step;                      \
    const EK_FLOATS weights = EK_GROUP(weights)(w, s->kind, vl);                                             \
    EK_EACH_PIXEL(EK_GROUP_ADD)
#define EK_GROUP_FINISH(k, sums)                                                                             \
    if (pixels > (k))                                                                                        \
        EK_GROUP(finish)(y + (k) * y_step, sums, r && !ek_is_scaled(s->kind) ? r + (k) * y_step : r,         \
            s->kind, s->lo, s->hi, vl);

/* `vl` outputs of some pixels, which are x_step apart in x and y_step in y: b, r and y begin with the first of them. */
EK_INLINED void EK_GROUP(tile)(const float *x, const uint8_t *w, const float *b, const float *r, float *y,
    const int32_t x_step, const int32_t y_step, const int32_t pixels, const int32_t tap_weights,
    const size_t vl, const struct ek_window_rvv *s)
{
    const int32_t bytes = tap_weights * ek_weight_bytes(s->kind);
    EK_FLOATS s0 = b ? EK_GROUP(load)(b, vl) : EK_GROUP(set)(0, vl), s1 = s0, s2 = s0, s3 = s0, s4 = s0,
              s5 = s0, s6 = s0, s7 = s0, s8 = s0, s9 = s0, s10 = s0, s11 = s0;
    for (int32_t i = 0; i < s->rows; i++)
        EK_UNROLLED_FOR(2, int32_t j = 0; j < s->runs; j++) {
            if (pixels == 1) {
                EK_UNROLLED_FOR(4, int32_t k = 0; k < s->cells; k++, w += bytes) {
                    EK_GROUP_TAP
                }
            } else {
                EK_GROUP_FOR(int32_t k = 0; k < s->cells; k++, w += bytes)
                {
                    EK_GROUP_TAP
                }
            }
        }
    EK_EACH_PIXEL(EK_GROUP_FINISH)
}

/* All outputs of some pixels. */
EK_INLINE void EK_GROUP(pixels)(const float *x, const uint8_t *w, const float *b, const float *r, float *y,
    const int32_t x_step, const int32_t y_step, const int32_t pixels, const struct ek_window_rvv *s)
{
    const int32_t size = s->tap_weights ? s->outputs : EK_BLOCK_RVV, bytes = ek_weight_bytes(s->kind);
    for (int32_t block = 0; block < s->outputs; block += size) {
        const int32_t rest = s->outputs - block, width = rest < size ? rest : size;
        const int32_t at = block * s->taps + width * s->first_tap,
                      step = s->tap_weights ? s->tap_weights : width;
        for (int32_t o = 0, vl = 0; o < width; o += vl) {
            vl = (int32_t)EK_GROUP(count)(width - o);
            EK_GROUP(tile)(x, w + (at + o) * bytes, b ? b + block + o : 0, r ? r + block + o : 0,
                y + block + o, x_step, y_step, pixels, step, (size_t)vl, s);
        }
    }
}

/* All outputs of a line of pixels; where code is to be small, in tiles of the most pixels and of one. */
EK_INLINE void EK_GROUP(line)(const float *x, const uint8_t *w, const float *b, const float *r, float *y,
    const int32_t x_step, const int32_t y_step, const int32_t length, const struct ek_window_rvv *s)
{
    const int32_t moves = r && !ek_is_scaled(s->kind);
    const int32_t pixels = ek_tile_pixels(length, EK_GROUP_PIXELS), whole = length / pixels * pixels;
    int32_t q = 0;
#define EK_GROUP_TILE(n)                                                                                     \
    EK_GROUP(pixels)(x + q * x_step, w, b, moves ? r + q * y_step : r, y + q * y_step, x_step, y_step, (n), s)
    for (; q < whole; q += pixels)
        EK_GROUP_TILE(pixels);
    if (EK_IS_COMPACT)
        for (; q < length; q++)
            EK_GROUP_TILE(1);
    else if (whole < length)
        EK_GROUP_TILE(length - whole);
#undef EK_GROUP_TILE
}

#undef EK_FLOATS
#undef EK_GROUP
#undef EK_GROUP_ADD
#undef EK_GROUP_FINISH
#undef EK_GROUP_PIXELS
#undef EK_GROUP_TAP
#undef EK_GROUP_FOR
