/* Classify ten embedded images of digits and print what the network sees in each. */
#include <stddef.h>
#include <stdio.h>

#include "digits.h"
#include "samples.h"

enum { PIXELS = sizeof samples[0], CLASSES = 10, WHITE = 16 };

/* The library allocates nothing: the caller lends it this memory for each run. */
static double arena[DIGITS_ARENA_SIZE / sizeof(double) + 1];

int main(void)
{
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        float x[PIXELS];
        float score[CLASSES];
        size_t best = 0;
        for (size_t pixel = 0; pixel < PIXELS; pixel++)
            x[pixel] = (float)samples[i][pixel] / (float)WHITE;

        digits_run(x, score, arena);

        for (size_t digit = 1; digit < CLASSES; digit++)
            if (score[digit] > score[best])
                best = digit;
        printf("image %u: digit %u, score %.3f\n", (unsigned)i, (unsigned)best, (double)score[best]);
    }
    return 0;
}
