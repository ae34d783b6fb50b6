/* Fully connected layer of int8 with one scale for all outputs: as dense_int.light.c, of which it has one multiplier.
 * like relaxed/dense_int.light.c each=one
 * for X=s8 W=s8 Y=s8 S=s32
 * rule e e_wide tfl once
 * when one_scale and rows < 4 and least_weight > -128 and heavy_pairs() <= 4 and inputs < 1048576
 * pack m: same! 4
 * pack e: same! 4
 * fold b: -128 w */
