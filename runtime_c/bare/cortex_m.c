/* Programs on a Cortex-M that an emulator shows: vectors, memory, floating point, and by semihosting arguments, files and
 * the exit. It is for running generated code here; firmware brings its own. */
#include <stddef.h>
#include <stdint.h>

#include "stdio.h"

enum { OPEN = 0x01, WRITE = 0x05, READ = 0x06, COMMAND_LINE = 0x15, EXIT = 0x20 };

static int32_t call(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory", "cc");
    return (int32_t)r0;
}

struct bare_file {
    const char *name;
    uint32_t length;
    uint32_t mode; /* rb, wb */
    int32_t *handle; /* 0: not opened yet */
};

static int32_t handles[2];
static FILE in = {"driver.in", 9, 1, &handles[0]}, out = {"driver.out", 10, 5, &handles[1]};
FILE *const stdin = &in;
FILE *const stdout = &out;

static int32_t handle_of(FILE *file)
{
    if (!*file->handle) {
        const uint32_t block[3] = {(uint32_t)(uintptr_t)file->name, file->mode, file->length};
        *file->handle = call(OPEN, block);
    }
    return *file->handle;
}

size_t fread(void *data, size_t size, size_t count, FILE *file)
{
    const uint32_t block[3] = {
        (uint32_t)handle_of(file), (uint32_t)(uintptr_t)data, (uint32_t)(size * count)};
    return count - (size_t)call(READ, block) / size;
}

size_t fwrite(const void *data, size_t size, size_t count, FILE *file)
{
    const uint32_t block[3] = {
        (uint32_t)handle_of(file), (uint32_t)(uintptr_t)data, (uint32_t)(size * count)};
    return count - (size_t)call(WRITE, block) / size;
}

static void command_line(char *line, uint32_t size)
{
    uint32_t block[2] = {(uint32_t)(uintptr_t)line, size};
    if (call(COMMAND_LINE, block))
        line[0] = 0;
}

__attribute__((noreturn)) static void end(int code)
{
    const uint32_t block[2] = {0x20026, (uint32_t)code}; /* an application's exit */
    call(EXIT, block);
    for (;;) {
    }
}

extern uint32_t ek_data_from[], ek_data_start[], ek_data_end[], ek_bss_start[], ek_bss_end[], ek_stack_top[];

int main(int argc, char **argv);

void ek_reset(void);

static void stop(void)
{
    end(70);
}

/* Stack pointer, reset, and the faults; interrupts stay off. */
__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {
    (void (*)(void))ek_stack_top,
    ek_reset,
    stop,
    stop,
    stop,
    stop,
    stop,
    0,
    0,
    0,
    0,
    stop,
    stop,
    0,
    stop,
    stop,
};

/* The words of the command line. */
static int words(char *line, char **argv, int most)
{
    int count = 0;
    while (*line && count < most) {
        argv[count++] = line;
        while (*line && *line != ' ')
            line++;
        while (*line == ' ')
            *line++ = 0;
    }
    return count;
}

__attribute__((noinline, noreturn)) static void begin(void)
{
    static char line[256];
    static char *argv[16];
    const uint32_t *from = ek_data_from;
    for (uint32_t *to = ek_data_start; to < ek_data_end; to++)
        *to = *from++;
    for (uint32_t *to = ek_bss_start; to < ek_bss_end; to++)
        *to = 0;
    command_line(line, sizeof line);
    end(main(words(line, argv, 16), argv));
}

/* The floating point unit and Helium must be on before a compiler's code may use them, if only to copy. */
void ek_reset(void)
{
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* coprocessors 10 and 11 */
    __asm volatile("dsb\n isb" ::: "memory");
#endif
    begin();
}
