/* Functions whose whole body is assembly: arguments are where the processor's calling convention has them. */
#ifndef EDGEKIT_ASSEMBLY_H
#define EDGEKIT_ASSEMBLY_H

#include <stddef.h>

/* ADR counts from words: it is off by two where a linker puts a function between two of them. */
#if defined(__clang__)
#define EK_ASSEMBLY __attribute__((naked, aligned(4), noinline, unused))
#else /* arguments are used, though gcc cannot see it */
#define EK_ASSEMBLY __attribute__((naked, aligned(4), noipa, unused))
#endif
#define EK_IN_ASSEMBLY __attribute__((unused))

#if defined(__cplusplus)
#define EK_ASSERT static_assert
#else
#define EK_ASSERT __extension__ _Static_assert
#endif

/* Assembly knows fields by their distance from the start of a struct: the compiler stops where a field moved. */
#define EK_ASSEMBLY_OFFSET(type, field, bytes)                                                               \
    EK_ASSERT(offsetof(type, field) == (bytes), #field " is not where assembly looks for it: at " #bytes)

/* Four fields of a word each, the first one at `bytes`. */
#define EK_ASSEMBLY_OFFSETS(type, bytes, a, b, c, d)                                                         \
    EK_ASSEMBLY_OFFSET(type, a, bytes);                                                                      \
    EK_ASSEMBLY_OFFSET(type, b, bytes + 4);                                                                  \
    EK_ASSEMBLY_OFFSET(type, c, bytes + 8);                                                                  \
    EK_ASSEMBLY_OFFSET(type, d, bytes + 12)

/* Assembly jumps over so many bytes of code, a number or a product: the assembler stops where there are more or less of
 * them between two labels above. That of clang knows distances only when all is laid out: no bytes can be put there,
 * not less. Short, as strings have 4,095 characters at most. */
#if defined(__clang__)
#define EK_ASSEMBLY_SIZE(from, to, bytes)                                                                    \
    ".skip " #to "b-" #from "b-" #bytes "\n.skip " #bytes "+" #from "b-" #to "b\n"
#else
#define EK_ASSEMBLY_SIZE(from, to, bytes)                                                                    \
    ".if " #to "b-" #from "b!=" #bytes "\n.error \"code is not " #bytes " bytes\"\n.endif\n"
#endif

#endif
