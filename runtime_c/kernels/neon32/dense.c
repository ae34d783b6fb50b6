/* Fully connected layer of floats: see dense.h. Sixteen outputs of up to four rows advance together.
 * Subnormal numbers count as 0, as this unit has it.
 * like neon/dense.c
 * for T=f32 W=f32 B=f32
 * order rows 4 4 */
