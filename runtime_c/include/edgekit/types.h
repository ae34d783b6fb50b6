/* Element types: how each is stored (EK_LOAD_<type>, EK_STORE_<type>) and what every kernel shares. */
#ifndef EDGEKIT_TYPES_H
#define EDGEKIT_TYPES_H

#include <stdint.h>

/* What stands before each kernel: nothing where kernels are shared functions, `static inline` where the model
 * includes their source, so that the compiler specialises each layer. */
#ifndef EK_KERNEL
#define EK_KERNEL
#endif

#if defined(__GNUC__)
#define EK_RESTRICT __restrict__
#elif defined(_MSC_VER)
#define EK_RESTRICT __restrict
#else
#define EK_RESTRICT
#endif

/* Loops of the kernels that walk strided tensors. */
#define EK_RANK 6

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
#define EK_STORE_s4(x) ((int8_t)(x))
#define EK_STORE_u4(x) ((uint8_t)(x))
#define EK_STORE_s2(x) ((int8_t)(x))
#define EK_STORE_u2(x) ((uint8_t)(x))
#define EK_STORE_bool(x) ((uint8_t)((x) != 0))
#define EK_STORE_f16(x) ek_f32_to_f16(x)
#define EK_STORE_bf16(x) ek_f32_to_bf16(x)

#endif
