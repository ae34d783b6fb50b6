/* Convolution of many pixels to three vectors of outputs with weights of f16: as avx2/conv2d.wide_f16.c.
 * for T=f32 W=f16 B=f32
 * like avx2/conv2d.wide_f16.c
 * when out_c == 24 * groups and out_h * out_w >= 32
 * pack w: G O/24!8 H W I o24
 * scratch 96 * k_h * k_w * (in_c // groups) */
