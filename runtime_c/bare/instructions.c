/* A plugin for QEMU that counts the instructions a guest executes between two of its functions: start and stop are
 * their addresses, and what is counted goes to standard error. With mark=ADDRESS, as often as needed, the file to=PATH
 * gets a line for each time that one of these is reached in between: how many until the next, or until stop. With
 * range=ADDRESS-END, as often as needed and in ascending order, it gets a line for each of these, behind the others: how
 * many bytes the guest loads of it in between. With
 * registers=1 a vector instruction of RISC-V counts once more for each register that it works on. The declarations are
 * those of QEMU's plugin interface, version 1, as far as they are used here: no header is needed. */
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
void qemu_plugin_register_vcpu_insn_exec_inline(
    struct instruction *at, int operation, void *counter, uint64_t step);
void qemu_plugin_register_vcpu_mem_cb(struct instruction *at,
    void (*accessed)(unsigned cpu, uint32_t access, uint64_t address, void *data), int flags, int accesses,
    void *data);
bool qemu_plugin_mem_is_store(uint32_t access);
unsigned qemu_plugin_mem_size_shift(uint32_t access);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*ended)(plugin_id, void *), void *data);
size_t qemu_plugin_tb_n_insns(const struct block *block);
struct instruction *qemu_plugin_tb_get_insn(const struct block *block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct instruction *at);
const void *qemu_plugin_insn_data(const struct instruction *at);

EXPORT int qemu_plugin_version = 1;

#define MOST_MARKS 4096
#define LOADS_AND_STORES 3 /* of accesses to memory: QEMU 7.2 confuses one with the other */

static uint64_t start, stop, executed, before, counted, marks[MOST_MARKS], mark_count, since;
static uint64_t range_start[MOST_MARKS], range_end[MOST_MARKS], loaded[MOST_MARKS], range_count;
static uint64_t group = 1; /* registers, as vsetvli last set it */
static bool inside, marked, by_registers;
static FILE *to;

static void end_part(void)
{
    if (marked && to)
        fprintf(to, "%" PRIu64 "\n", executed - since);
    since = executed;
}

static void on_start(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    before = executed;
    inside = true;
}

static void on_mark(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    if (inside) {
        end_part();
        marked = true;
    }
}

static void on_stop(unsigned cpu, void *data)
{
    (void)cpu, (void)data;
    counted += executed - before;
    end_part();
    inside = marked = false;
}

static void on_group(unsigned cpu, void *data)
{
    (void)cpu;
    group = (uintptr_t)data;
}

static void on_vector(unsigned cpu, void *groups)
{
    (void)cpu;
    executed += group * (uintptr_t)groups;
}

static void on_load(unsigned cpu, uint32_t access, uint64_t address, void *data)
{
    (void)cpu, (void)data;
    uint64_t low = 0, high = range_count; /* of the first range that ends behind the address */
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (range_end[middle] > address)
            high = middle;
        else
            low = middle + 1;
    }
    const bool is_load = !qemu_plugin_mem_is_store(access);
    if (inside && is_load && low < range_count && address >= range_start[low])
        loaded[low] += UINT64_C(1) << qemu_plugin_mem_size_shift(access);
}

/* How many groups the larger operand of a vector instruction has: two where it is twice as wide; zero for no vectors. */
static uintptr_t groups_of(uint32_t word)
{
    const uint32_t kind = word >> 12 & 7, operation = word >> 26, from = word >> 15 & 31;
    if ((word & 0x7F) == 0x07 || (word & 0x7F) == 0x27) /* loads and stores, also of scalar floats */
        return kind == 0 || kind >= 5;
    if ((word & 0x7F) != 0x57 || kind == 7)
        return 0;
    if (kind == 0 || kind == 3 || kind == 4) /* integers: those that narrow */
        return operation >= 0x2C && operation < 0x30 ? 2 : 1;
    if (operation == 0x12 && (kind == 1 || kind == 5)) /* conversions of floats */
        return from >= 8 ? 2 : 1;
    return operation >= 0x30 ? 2 : 1;
}

static void on_instruction_of_riscv(struct instruction *at)
{
    uint32_t word = 0;
    memcpy(&word, qemu_plugin_insn_data(at), 2); /* the first one in memory is the low one */
    if ((word & 3) != 3) /* two bytes */
        return;
    memcpy(&word, qemu_plugin_insn_data(at), 4);
    if ((word & 0x707F) == 0x7057 && word >> 30 != 2) { /* vsetvli, vsetivli */
        const uintptr_t power = word >> 20 & 7;
        qemu_plugin_register_vcpu_insn_exec_cb(
            at, on_group, 0, (void *)((uintptr_t)1 << (power & 4 ? 0 : power)));
    } else if (groups_of(word))
        qemu_plugin_register_vcpu_insn_exec_cb(at, on_vector, 0, (void *)groups_of(word));
}

/* Callbacks of an instruction run before it, in the order in which they are registered. */
static void on_translation(plugin_id id, struct block *block)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct instruction *at = qemu_plugin_tb_get_insn(block, i);
        const uint64_t address = qemu_plugin_insn_vaddr(at);
        if (address == start)
            qemu_plugin_register_vcpu_insn_exec_cb(at, on_start, 0, NULL);
        if (address == stop)
            qemu_plugin_register_vcpu_insn_exec_cb(at, on_stop, 0, NULL);
        for (uint64_t k = 0; k < mark_count; k++)
            if (address == marks[k])
                qemu_plugin_register_vcpu_insn_exec_cb(at, on_mark, 0, NULL);
        if (range_count)
            qemu_plugin_register_vcpu_mem_cb(at, on_load, 0, LOADS_AND_STORES, NULL);
        if (by_registers)
            on_instruction_of_riscv(at);
        qemu_plugin_register_vcpu_insn_exec_inline(at, 0, &executed, 1);
    }
}

static void report(plugin_id id, void *data)
{
    (void)id, (void)data;
    fprintf(stderr, "instructions %" PRIu64 "\n", counted);
    for (uint64_t i = 0; to && i < range_count; i++)
        fprintf(to, "%" PRIu64 "\n", loaded[i]);
    if (to)
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
        else if (!strcmp(argv[i], "registers=1"))
            by_registers = true;
        else if (!strncmp(argv[i], "to=", 3) && !(to = fopen(value + 1, "w")))
            return 1;
        else if (!strncmp(argv[i], "mark=", 5) && mark_count < MOST_MARKS)
            marks[mark_count++] = address;
        else if (!strncmp(argv[i], "range=", 6) && range_count < MOST_MARKS) {
            range_start[range_count] = strtoull(value + 1, NULL, 0);
            range_end[range_count++] = strtoull(strchr(value, '-') + 1, NULL, 0);
        }
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, report, NULL);
    return 0;
}
