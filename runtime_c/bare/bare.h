/* What a program needs of its surroundings without an operating system: files and an exit, by semihosting. */
#ifndef EDGEKIT_BARE_H
#define EDGEKIT_BARE_H

#include <stddef.h>
#include <stdint.h>

void bare_command_line(char *line, uint32_t size);
void bare_exit(int code) __attribute__((noreturn));

#endif
