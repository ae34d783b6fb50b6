/* Loops over sums that are no array: vectors of RISC-V cannot be elements of one. */
#ifndef EDGEKIT_EACH_PIXEL_H
#define EDGEKIT_EACH_PIXEL_H

/* text(k, s) of the sums of each pixel. */
#define EK_EACH_PIXEL(text)                                                                                  \
    text(0, s0) text(1, s1) text(2, s2) text(3, s3) text(4, s4) text(5, s5) text(6, s6) text(7, s7)          \
        text(8, s8) text(9, s9) text(10, s10) text(11, s11)

#endif
