/* Convolution of floats with weights of 16 bits: as avx2/conv2d.c.
 * also conv2d_add
 * apart
 * for T=f32 W=f16 B=f32
 * like avx2/conv2d.c f32=f16 */
