/* Sums of rows that were quantized in this run, where they lie by rows and then by outputs: what those of a group begin
 * with, the factors of outputs, and nothing to put in order. SMMLA has its own. */
#ifndef EDGEKIT_DYNAMIC_ROWS_H
#define EDGEKIT_DYNAMIC_ROWS_H

#ifndef EK_DR_START
#define EK_DR_START(offsets, g, groups, k, rows, vectors)                                                    \
    ek_dr_same((offsets)[(k) / (vectors) * (groups) + (g)])
#endif
#define EK_DR_FACTOR(scale, k, rows, vectors, kind) ek_vf_weights(scale, (k) % (vectors) * EK_VF_LANES, kind)
#define EK_DR_IN_ORDER(sums, rows, vectors)
#ifndef EK_DR_TILES /* NEON has its own */
/* Rows as they are, and where an input is in those of a tile. */
#define EK_DR_TILES(x, room, rows, inputs) (x)
#define EK_DR_INPUT(at, rows) (at)
/* Where the first number of a row is among those of all groups, and how far it is to the next one. */
#define EK_DR_PLACE(r, rows, groups) ((r) * (groups))
#define EK_DR_STEP(r, rows) 1
#endif

#endif
