/* Listen to five embedded recordings of a fan and print which of them sound faulty. */
#include <stddef.h>
#include <stdio.h>

#include "anomaly.h"
#include "samples.h"

enum { FEATURES = sizeof samples[0], SCALE = 32 };

/* The library allocates nothing: the caller lends it this memory for each run. */
static double arena[ANOMALY_ARENA_SIZE / sizeof(double) + 1];

int main(void)
{
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        float x[FEATURES];
        float y[FEATURES]; /* what a healthy fan would have sounded like */
        float error = 0;
        for (size_t feature = 0; feature < FEATURES; feature++)
            x[feature] = (float)samples[i][feature] / (float)SCALE;

        anomaly_run(x, y, arena);

        for (size_t feature = 0; feature < FEATURES; feature++)
            error += (y[feature] - x[feature]) * (y[feature] - x[feature]) / (float)FEATURES;
        printf("recording %u: %s, score %.4f\n", (unsigned)i, error > threshold ? "faulty" : "healthy",
            (double)error);
    }
    return 0;
}
