/* Functions whose whole body is assembly: arguments are where the processor's calling convention has them. */
#ifndef EDGEKIT_ASSEMBLY_H
#define EDGEKIT_ASSEMBLY_H

/* ADR counts from words: it is off by two where a linker puts a function between two of them. */
#if defined(__clang__)
#define EK_ASSEMBLY __attribute__((naked, aligned(4), noinline, unused))
#else /* arguments are used, though gcc cannot see it */
#define EK_ASSEMBLY __attribute__((naked, aligned(4), noipa, unused))
#endif
#define EK_IN_ASSEMBLY __attribute__((unused))

#endif
