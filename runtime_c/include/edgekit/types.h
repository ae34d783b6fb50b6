/* Element types: how each is stored (EK_LOAD_<type>, EK_STORE_<type>) and what every kernel shares. */
#ifndef EDGEKIT_TYPES_H
#define EDGEKIT_TYPES_H

#include <stdint.h>

/* Can several object files define the same function, of which the linker takes one? Not for Windows. */
#ifndef EK_HAS_WEAK
#if defined(__GNUC__) && !defined(_WIN32) && !defined(__CYGWIN__)
#define EK_HAS_WEAK 1
#else
#define EK_HAS_WEAK 0
#endif
#endif

/* Does the first byte of a number hold its highest bits? */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define EK_IS_BIG_ENDIAN 1
#else
#define EK_IS_BIG_ENDIAN 0
#endif

/* What stands before each kernel and its prototype. Where the model includes kernels so that the compiler specialises
 * each layer, it defines EK_KERNEL as `static inline`. Else kernels are functions that all libraries of a program share,
 * or functions of their own in each library. */
#ifdef EK_KERNEL
#define EK_DECLARED EK_KERNEL
#elif EK_HAS_WEAK
#define EK_KERNEL __attribute__((weak))
#define EK_DECLARED
#elif defined(__GNUC__)
#define EK_KERNEL static __attribute__((unused))
#define EK_DECLARED EK_KERNEL
#else
#define EK_KERNEL static
#define EK_DECLARED EK_KERNEL
#endif
/* Which field an initializer gives a value. C++ takes values in the order of the fields, and names only since 2020. */
#ifdef __cplusplus
#define EK_FIELD(name)
#else
#define EK_FIELD(name) .name =
#endif
/* What stands before a kernel's own helper functions. */
#ifndef EK_INLINE
#define EK_INLINE static inline
#endif

/* What stands before helper functions of which all layers share one copy. */
#if defined(__GNUC__)
#define EK_SHARED __attribute__((noinline, unused))
#else
#define EK_SHARED
#endif
/* Where code is to be small, a case that others cover has no code of its own, and helper functions for several cases are
 * one copy for all: less flash, and a stack that is as deep in each case as its bound says. */
#ifdef __OPTIMIZE_SIZE__
#define EK_IS_COMPACT 1
#define EK_COMPACT static EK_SHARED
#else
#define EK_IS_COMPACT 0
#define EK_COMPACT EK_INLINE
#endif

/* What stands before helper functions that are no functions in any case: of arguments that compilers know, loops over
 * them become registers. Where nothing is optimized, they do not, and code would be twenty times as long. */
#if defined(__GNUC__) && defined(__OPTIMIZE__)
#define EK_INLINED static inline __attribute__((always_inline, unused))
#elif defined(__GNUC__)
#define EK_INLINED static __attribute__((unused))
#else
#define EK_INLINED static inline
#endif

#if defined(__GNUC__)
#define EK_RESTRICT __restrict__
#elif defined(_MSC_VER)
#define EK_RESTRICT __restrict
#else
#define EK_RESTRICT
#endif

/* Does an operand lie where the result lies? Compilers vectorise a loop over one pointer, and do one element at a time
 * where two are the same at run time only. Not asked where code is to be small. */
#ifdef __OPTIMIZE_SIZE__
#define EK_IS_AT(x, y) 0
#else
#define EK_IS_AT(x, y) ((const void *)(x) == (const void *)(y))
#endif

/* A tensor of this type, so many bytes behind the start of memory that it is aligned in: arena, input, output. */
#define EK_AT(type, memory, bytes) ((type *)(void *)((uint8_t *)(memory) + (bytes)))
/* The same of what is read only: inputs, and constants that a kernel's layout stores in another type. */
#define EK_VIEW(type, memory, bytes) ((const type *)(const void *)((const uint8_t *)(memory) + (bytes)))

/* Placement of constants, for linkers that want a section named. */
#ifndef EK_WEIGHTS
#define EK_WEIGHTS
#endif

/* Alignment of a constant, in bytes. */
#if defined(__GNUC__)
#define EK_ALIGNED(bytes) __attribute__((aligned(bytes)))
#else
#define EK_ALIGNED(bytes)
#endif

/* Infinity and NaN as constants, without the math library. */
#if defined(__GNUC__)
#define EK_INF_f32 (__builtin_inff())
#define EK_INF_f64 (__builtin_inf())
#define EK_NAN_f32 (__builtin_nanf(""))
#define EK_NAN_f64 (__builtin_nan(""))
#else
#define EK_INF_f32 ((float)(1e308 * 10))
#define EK_INF_f64 (1e308 * 10)
#define EK_NAN_f32 (EK_INF_f32 - EK_INF_f32)
#define EK_NAN_f64 (EK_INF_f64 - EK_INF_f64)
#endif

/* Stands before a short loop over independent sums inside a reduction. gcc would unroll it whole before it
 * vectorises, and then vectorise the reduction around it: four to five times slower. */
#if defined(__GNUC__) && !defined(__clang__)
#define EK_SIDE_BY_SIDE _Pragma("GCC unroll 4")
#else
#define EK_SIDE_BY_SIDE
#endif

/* A loop that is to be unrolled, of at most `turns` where compilers know how many: over vectors that are to be registers.
 * And a loop that is not to be. */
#if defined(__GNUC__)
#define EK_PRAGMA(text) _Pragma(#text)
#else
#define EK_PRAGMA(text)
#endif
#if defined(__clang__)
#define EK_UNROLLED_FOR(turns, ...) EK_PRAGMA(clang loop unroll_count(turns)) for (__VA_ARGS__)
#define EK_ROLLED_FOR(...) EK_PRAGMA(clang loop unroll(disable)) for (__VA_ARGS__)
#else
#define EK_UNROLLED_FOR(turns, ...) EK_PRAGMA(GCC unroll turns) for (__VA_ARGS__)
#define EK_ROLLED_FOR(...) EK_PRAGMA(GCC unroll 1) for (__VA_ARGS__)
#endif

/* A loop over elements side by side. GCC unrolls one of up to 16 turns as a whole before it looks for vectors, and then
 * compares and branches for each element. */
#if defined(__GNUC__) && !defined(__clang__) && (defined(__SSE2__) || defined(__aarch64__))
#define EK_ROW_FOR(...) EK_UNROLLED_FOR(2, __VA_ARGS__)
#else
#define EK_ROW_FOR(...) for (__VA_ARGS__)
#endif

/* Loops of the kernels that walk strided tensors. */
#define EK_RANK 6

/* Element i of what p points to. Those of less than a byte have macros of their own. */
#define EK_AT_s8(p, i) ((p)[i])

/* -x w - x' w' for x and x' of this type and int8 w and w'. With int8 it fits into 16 bits, where x w + x' w' may be
 * 2^15: compilers then multiply in 16 bits, twice as many at once. */
#define EK_PAIR_s8(sum) ((int16_t)(sum))
#define EK_PAIR_s16(sum) (sum)

#define EK_LOAD_f32(x) (x)
#define EK_LOAD_f64(x) (x)
#define EK_LOAD_s8(x) (x)
#define EK_LOAD_s16(x) (x)
#define EK_LOAD_s32(x) (x)
#define EK_LOAD_s64(x) (x)
#define EK_LOAD_u8(x) (x)
#define EK_LOAD_u16(x) (x)
#define EK_LOAD_u32(x) (x)
#define EK_LOAD_u64(x) (x)
#define EK_LOAD_s4(x) (x)
#define EK_LOAD_u4(x) (x)
#define EK_LOAD_s2(x) (x)
#define EK_LOAD_u2(x) (x)
#define EK_LOAD_bool(x) ((uint32_t)((x) != 0))
#define EK_LOAD_f16(x) ek_f16_to_f32(x)
#define EK_LOAD_bf16(x) ek_bf16_to_f32(x)

#define EK_STORE_f32(x) (x)
#define EK_STORE_f64(x) (x)
#define EK_STORE_s8(x) ((int8_t)(x))
#define EK_STORE_s16(x) ((int16_t)(x))
#define EK_STORE_s32(x) ((int32_t)(x))
#define EK_STORE_s64(x) ((int64_t)(x))
#define EK_STORE_u8(x) ((uint8_t)(x))
#define EK_STORE_u16(x) ((uint16_t)(x))
#define EK_STORE_u32(x) ((uint32_t)(x))
#define EK_STORE_u64(x) ((uint64_t)(x))
#define EK_STORE_s4(x) ((int8_t)((int32_t)(((uint32_t)(x) & 15u) ^ 8u) - 8))
#define EK_STORE_u4(x) ((uint8_t)((uint32_t)(x) & 15u))
#define EK_STORE_s2(x) ((int8_t)((int32_t)(((uint32_t)(x) & 3u) ^ 2u) - 2))
#define EK_STORE_u2(x) ((uint8_t)((uint32_t)(x) & 3u))
#define EK_STORE_bool(x) ((uint8_t)((x) != 0))
#define EK_STORE_f16(x) ek_f32_to_f16(x)
#define EK_STORE_bf16(x) ek_f32_to_bf16(x)

#endif
