/* How a library uses several cores: the caller's threads run the parts of each layer. */
#ifndef EDGEKIT_POOL_H
#define EDGEKIT_POOL_H

#include <stdint.h>

/* `run` calls part(job, i) once for each i from 0 to parts - 1, in any order and on any thread, and returns when all of
 * these calls have returned; what they wrote is seen by its caller. Results do not depend on who runs which part. */
struct ek_pool {
    void (*run)(void *ctx, void (*part)(void *job, int32_t index), void *job, int32_t parts);
    void *ctx;
};

#endif
