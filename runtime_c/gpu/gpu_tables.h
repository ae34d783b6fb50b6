/* The tables of a model for GPUs: what its file says of it, to those that run it. */
#ifndef EDGEKIT_GPU_TABLES_H
#define EDGEKIT_GPU_TABLES_H

#include <stddef.h>
#include <stdint.h>

/* Memory on the device: inputs and outputs of all entries come from the fourth place on. */
enum { EK_GPU_ARENA, EK_GPU_WEIGHTS, EK_GPU_STATES, EK_GPU_PORTS };

/* A buffer of a kernel: which memory, and its first element. */
struct ek_gpu_span {
    uint16_t memory;
    uint32_t first;
};

struct ek_gpu_dispatch {
    uint16_t entry; /* k<entry> is the name of its kernel */
    uint8_t buffers;
    uint8_t group; /* items of a work-group */
    uint32_t groups;
    uint16_t values; /* constants that are arguments */
    uint32_t first; /* of them in the table */
    struct ek_gpu_span span[8];
};

/* A tensor that a CPU segment reads or writes. */
struct ek_gpu_tensor {
    uint16_t memory;
    size_t first, bytes; /* of that memory */
    size_t place; /* while the CPU runs */
};

/* Layers that the CPU computes between dispatches. */
struct ek_gpu_segment {
    uint32_t before; /* the dispatch that comes next */
    uint16_t inputs, outputs;
    uint32_t first; /* of its tensors in the table */
    size_t arena; /* behind them */
};

/* An input or output. */
struct ek_gpu_port {
    size_t bytes;
    /* Of the self-test: */
    float tolerance; /* of float32, of the largest; 0: integers */
    float low, step; /* an input of float32 is low + step * (0 to 255) */
    uint32_t width; /* bytes of an element */
    uint32_t row; /* elements of a row of a mask, of which the first is set; 0: no mask */
    int32_t least; /* of an input of integers, */
    uint32_t count; /* and how many different ones there are */
    int on_device; /* 0: only the CPU uses it */
};

/* A state that is on the device: where it is there, and in the struct of the CPU. */
struct ek_gpu_field {
    size_t first, here, bytes;
};

/* A run function of the library. */
struct ek_gpu_entry {
    uint32_t first, count; /* of its dispatches */
    uint32_t segment, segments; /* the first one, and how many, in their order */
    uint16_t inputs, outputs;
    uint16_t memory; /* of its first port */
    uint16_t has_states; /* 1: it takes those of a stream */
};

struct ek_gpu_model {
    const char *source;
    const struct ek_gpu_dispatch *dispatches; /* of all entries */
    uint32_t count;
    const uint32_t *values;
    const struct ek_gpu_segment *segments;
    uint32_t segment_count;
    const struct ek_gpu_tensor *tensors;
    size_t segment_bytes; /* that a segment works in, at most */
    void (*segment)(uint32_t number, void *const *tensors, void *state, void *arena);
    const void *weights;
    size_t weight_bytes, arena_bytes; /* on the device */
    const struct ek_gpu_entry *entries;
    uint32_t entry_count;
    const struct ek_gpu_port *ports; /* of all entries: inputs, then outputs */
    void (*cpu)(uint32_t entry, const void *const *inputs, void *const *outputs, void *state, void *arena);
    uint16_t memories; /* how many there are */
    uint16_t keeps_states; /* 1: segments have states of their own, in the struct of the CPU */
    const struct ek_gpu_field *fields;
    uint32_t field_count;
    size_t state_bytes; /* of a stream, on the device */
    size_t cpu_state_bytes; /* 0: the model has no states */
    void (*reset)(void *state); /* that struct */
    size_t cpu_arena_bytes;
};

/* Inputs and outputs of an entry. */
static const struct ek_gpu_port *ek_gpu_ports(const struct ek_gpu_model *m, const struct ek_gpu_entry *e)
{
    return m->ports + (e->memory - EK_GPU_PORTS);
}

#endif
