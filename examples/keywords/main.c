/* Recognise eleven embedded recordings and print the word that the network hears in each. */
#include <stddef.h>
#include <stdio.h>

#include "keywords.h"
#include "samples.h"

enum { WORDS = sizeof words / sizeof words[0], FEATURES = sizeof samples[0], SCALE = 32 };

/* The library allocates nothing: the caller lends it this memory for each run. */
static double arena[KEYWORDS_ARENA_SIZE / sizeof(double) + 1];

int main(void)
{
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        float x[FEATURES];
        float score[WORDS];
        size_t best = 0;
        for (size_t feature = 0; feature < FEATURES; feature++)
            x[feature] = (float)samples[i][feature] / (float)SCALE;

        keywords_run(x, score, arena);

        for (size_t word = 1; word < WORDS; word++)
            if (score[word] > score[best])
                best = word;
        printf("recording %u: %s, score %.3f\n", (unsigned)i, words[best], (double)score[best]);
    }
    return 0;
}
