/* Fully connected layer of int8 without the blocks of weights that are zero: see dense_int.h and blocks_s8_wasm.h.
 * like relaxed/dense_int.blocks.c four=two
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once
 * when zero_blocks(8, 2) >= 15 + 7000 // inputs and inputs % 2 == 0
 * pack w: blocks O/8! I/2! o8 i2
 * scratch 2 * (rows * inputs) + 16
 * order rows 8 */
