/* Convolution of floats with weights of 16 bits: as conv2d.c.
 * for T=f32 W=f16 B=f32
 * like vfp/conv2d.c f32=f16
 * when step_c == 1 or in_c == groups */
