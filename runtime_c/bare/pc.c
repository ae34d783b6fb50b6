/* Programs on an emulated PC without an operating system: arguments and input come from the disk with the program,
 * output goes to the printer, the exit code behind it. What switches the processor on is in pc.S. */
#include <stddef.h>
#include <stdint.h>

#include "stdio.h"
#include "string.h"

/* The first sector of the disk, in front of the program. */
struct request {
    uint32_t sectors;
    uint32_t input; /* address */
    uint32_t input_size;
    char words[500]; /* arguments, each ended by a zero, and an empty one */
};

static const volatile struct request *request(void)
{
    return (const volatile struct request *)(uintptr_t)0x1FFE00;
}

struct bare_file {
    uint32_t *done; /* bytes */
};

static uint32_t taken;
static FILE in = {&taken}, out = {0};
FILE *const stdin = &in;
FILE *const stdout = &out;

static void to_port(uint16_t port, uint8_t value)
{
    __asm volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static void print(uint8_t value)
{
    enum { DATA = 0x378, CONTROL = 0x37A, SELECTED = 0x0C, STROBE = 0x01 };
    to_port(DATA, value);
    to_port(CONTROL, SELECTED | STROBE);
    to_port(CONTROL, SELECTED);
}

size_t fread(void *data, size_t size, size_t count, FILE *file)
{
    const size_t left = size ? (request()->input_size - *file->done) / size : 0;
    const size_t most = count < left ? count : left;
    memcpy(data, (const char *)(uintptr_t)request()->input + *file->done, most * size);
    *file->done += (uint32_t)(most * size);
    return most;
}

size_t fwrite(const void *data, size_t size, size_t count, FILE *file)
{
    (void)file;
    for (size_t i = 0; i < size * count; i++)
        print(((const uint8_t *)data)[i]);
    return count;
}

extern uint64_t ek_data_from[], ek_data_start[], ek_data_end[], ek_bss_start[], ek_bss_end[];

int main(int argc, char **argv);

__attribute__((noreturn, used)) void ek_reset(void);

void ek_reset(void)
{
    static char *argv[16];
    int argc = 0;
    const uint64_t *from = ek_data_from;
    for (uint64_t *to = ek_data_start; to < ek_data_end; to++)
        *to = *from++;
    for (uint64_t *to = ek_bss_start; to < ek_bss_end; to++)
        *to = 0;
    for (char *at = (char *)(uintptr_t)request()->words; *at && argc < 16; at++) {
        argv[argc++] = at;
        while (*at)
            at++;
    }
    print((uint8_t)main(argc, argv));
    for (const char *at = "Shutdown"; *at; at++)
        to_port(0x8900, (uint8_t)*at);
    for (;;) {
    }
}
