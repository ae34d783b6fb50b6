/* The little of stdio that test programs use: stdin is the file driver.in, stdout is driver.out. */
#ifndef EDGEKIT_BARE_STDIO_H
#define EDGEKIT_BARE_STDIO_H

#include <stddef.h>

typedef const struct bare_file FILE;
extern FILE *const stdin, *const stdout;

size_t fread(void *data, size_t size, size_t count, FILE *file);
size_t fwrite(const void *data, size_t size, size_t count, FILE *file);

#endif
