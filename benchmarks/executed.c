/* A plugin for QEMU that says of each instruction between two functions of a guest how often it ran, and how often
 * something else followed it than what stands behind it: lines of address, count and jumps go to the file to=PATH.
 * start= and stop= are the addresses of the functions. See runtime_c/bare/instructions.c for what is declared. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;
struct block;
struct instruction;

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*translated)(plugin_id, struct block *));
void qemu_plugin_register_vcpu_insn_exec_cb(
    struct instruction *at, void (*executed)(unsigned cpu, void *data), int flags, void *data);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*ended)(plugin_id, void *), void *data);
size_t qemu_plugin_tb_n_insns(const struct block *block);
struct instruction *qemu_plugin_tb_get_insn(const struct block *block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct instruction *at);
size_t qemu_plugin_insn_size(const struct instruction *at);

EXPORT int qemu_plugin_version = 1;

struct place {
    uint64_t address, size, count, jumps;
    struct place *next; /* with the same hash */
};

#define BUCKETS 65536

static struct place *places[BUCKETS], *last;
static uint64_t start, stop;
static bool inside;
static FILE *to;

/* Code may be translated more than once. */
static struct place *place_of(uint64_t address, uint64_t size)
{
    struct place **at = &places[address / 2 % BUCKETS];
    while (*at && (*at)->address != address)
        at = &(*at)->next;
    if (!*at) {
        *at = calloc(1, sizeof **at);
        if (!*at)
            abort();
        (*at)->address = address;
        (*at)->size = size;
    }
    return *at;
}

static void on_instruction(unsigned cpu, void *data)
{
    struct place *here = data;
    (void)cpu;
    if (here->address == stop)
        inside = false;
    if (inside) {
        if (last && last->address + last->size != here->address)
            last->jumps++;
        here->count++;
        last = here;
    }
    if (here->address == start) {
        inside = true;
        last = NULL;
    }
}

static void on_translation(plugin_id id, struct block *block)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct instruction *at = qemu_plugin_tb_get_insn(block, i);
        struct place *here = place_of(qemu_plugin_insn_vaddr(at), qemu_plugin_insn_size(at));
        qemu_plugin_register_vcpu_insn_exec_cb(at, on_instruction, 0, here);
    }
}

static void report(plugin_id id, void *data)
{
    (void)id, (void)data;
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct place *here = places[i]; here; here = here->next)
            if (here->count)
                fprintf(to, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", here->address, here->count, here->jumps);
    fclose(to);
}

EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        const char *value = strchr(argv[i], '=');
        if (!value)
            return 1;
        const uint64_t address = strtoull(value + 1, NULL, 0) & ~UINT64_C(1); /* of Thumb code bit 0 is set */
        if (!strncmp(argv[i], "start=", 6))
            start = address;
        else if (!strncmp(argv[i], "stop=", 5))
            stop = address;
        else if (!strncmp(argv[i], "to=", 3))
            to = fopen(value + 1, "w");
    }
    if (!to)
        return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, report, NULL);
    return 0;
}
