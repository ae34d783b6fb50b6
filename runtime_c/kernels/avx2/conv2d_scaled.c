/* Convolution of floats with weights of bytes: as avx2/conv2d.c, where scales are in place of what is added.
 * apart
 * for T=f32 W=s8 B=f32
 * like avx2/conv2d.c f32=s8 */
