/* Starts a program on a Cortex-M that an emulator shows: vectors, memory, floating point, arguments. It is for running
 * generated code here; firmware brings its own. */
#include <stddef.h>
#include <stdint.h>

#include "bare.h"

extern uint32_t ek_data_from[], ek_data_start[], ek_data_end[], ek_bss_start[], ek_bss_end[], ek_stack_top[];

int main(int argc, char **argv);

void ek_reset(void);

static void stop(void)
{
    bare_exit(70);
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
    bare_command_line(line, sizeof line);
    bare_exit(main(words(line, argv, 16), argv));
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
