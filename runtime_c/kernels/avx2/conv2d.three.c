/* Convolution to three vectors of outputs, which are computed together: as avx2/conv2d.c.
 * also conv2d_add
 * apart
 * for T=f32 W=f32 B=f32
 * like avx2/conv2d.c
 * when out_c == 24 * groups
 * pack w: G O/24!8 H W I o24 */
