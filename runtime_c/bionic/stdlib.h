/* The functions of Android's C library that jni.c calls. */
#ifndef EDGEKIT_BIONIC_STDLIB_H
#define EDGEKIT_BIONIC_STDLIB_H

#include <stddef.h>

void *calloc(size_t count, size_t size);
void free(void *memory);

#endif
