/* The little of the C library that test programs and generated code use. */
#include "stdlib.h"
#include "string.h"

int atoi(const char *text)
{
    int value = 0;
    while (*text >= '0' && *text <= '9')
        value = 10 * value + (*text++ - '0');
    return value;
}

void *memcpy(void *to, const void *from, size_t size)
{
    unsigned char *a = to;
    const unsigned char *b = from;
    for (size_t i = 0; i < size; i++) {
        a[i] = b[i];
        __asm volatile("" ::: "memory"); /* or a compiler calls memcpy here */
    }
    return to;
}

void *memset(void *to, int value, size_t size)
{
    unsigned char *a = to;
    for (size_t i = 0; i < size; i++) {
        a[i] = (unsigned char)value;
        __asm volatile("" ::: "memory");
    }
    return to;
}
