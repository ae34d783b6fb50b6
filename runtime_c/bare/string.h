/* The little of string.h that generated code and test programs use. */
#ifndef EDGEKIT_BARE_STRING_H
#define EDGEKIT_BARE_STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);

#endif
