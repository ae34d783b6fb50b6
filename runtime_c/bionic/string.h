/* The functions of Android's C library that generated code calls. */
#ifndef EDGEKIT_BIONIC_STRING_H
#define EDGEKIT_BIONIC_STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);

#endif
