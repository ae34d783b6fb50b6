/* As much of MicroPython's C API as modules of EdgeKit use: its names and types, with plain C behind them. An error ends
 * the program. Names of Python are text here. */
#ifndef STANDIN_OBJ_H
#define STANDIN_OBJ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef void *mp_obj_t;
typedef const void *mp_rom_obj_t;
typedef uintptr_t mp_uint_t;
typedef struct mp_obj_type mp_obj_type_t;
typedef struct {
    const mp_obj_type_t *type;
} mp_obj_base_t;
typedef struct {
    mp_rom_obj_t key, value;
} mp_rom_map_elem_t;
typedef struct {
    size_t count;
    const mp_rom_map_elem_t *items;
} mp_obj_dict_t;
typedef struct {
    size_t least, most;
    mp_obj_t (*one)(mp_obj_t);
    mp_obj_t (*several)(size_t, const mp_obj_t *);
    mp_obj_t (*none)(void);
} mp_fun_t;
struct mp_obj_type {
    const char *name;
    mp_obj_t (*make_new)(const mp_obj_type_t *type, size_t count, size_t named, const mp_obj_t *given);
    const mp_obj_dict_t *locals_dict;
};
typedef struct {
    mp_obj_base_t base;
    mp_obj_dict_t *globals;
} mp_obj_module_t;
typedef struct {
    void *buf;
    size_t len;
    int typecode;
} mp_buffer_info_t;

typedef unsigned char byte;

extern const mp_obj_type_t mp_type_module, mp_type_str, mp_type_tuple, mp_type_ValueError;
extern const mp_obj_module_t *const registered;
extern const char *const registered_name;

#define BYTEARRAY_TYPECODE 1
#define MP_BUFFER_READ 1
#define MP_BUFFER_WRITE 2
#define MP_TYPE_FLAG_NONE 0
#define MP_ERROR_TEXT(text) text
#define MP_OBJ_TO_PTR(object) ((void *)(object))
#define MP_OBJ_FROM_PTR(pointer) ((mp_obj_t)(pointer))
#define MP_OBJ_NEW_SMALL_INT(number) ((mp_obj_t)(intptr_t)(number))
#define MICROPY_PY_BUILTINS_FLOAT 1
#define mp_const_none ((mp_obj_t)0)
#define MP_ROM_QSTR(name) #name
#define MP_ROM_INT(number) ((mp_rom_obj_t)(intptr_t)(number))
#define MP_ROM_PTR(pointer) (pointer)
#define MP_DEFINE_CONST_DICT(name, table) const mp_obj_dict_t name = {sizeof(table) / sizeof *(table), table}
#define MP_DEFINE_CONST_FUN_OBJ_0(name, function) const mp_fun_t name = {0, 0, NULL, NULL, function}
#define MP_DEFINE_CONST_FUN_OBJ_1(name, function) const mp_fun_t name = {1, 1, function, NULL, NULL}
#define MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(name, least, most, function)                                     \
    const mp_fun_t name = {least, most, NULL, function, NULL}
#define MP_DEFINE_CONST_OBJ_TYPE(type, name, flags, make_new, maker, locals_dict, dict)                      \
    const mp_obj_type_t type = {#name, maker, dict}
#define MP_REGISTER_MODULE(name, module)                                                                     \
    const mp_obj_module_t *const registered = &(module);                                                     \
    const char *const registered_name = #name

static inline void mp_arg_check_num(size_t count, size_t named, size_t least, size_t most, bool takes_named)
{
    (void)takes_named;
    if (named || count < least || count > most) {
        exit(3);
    }
}

static inline void mp_get_buffer_raise(mp_obj_t object, mp_buffer_info_t *info, mp_uint_t access)
{
    (void)access;
    *info = *(mp_buffer_info_t *)object;
}

#define mp_raise_msg_varg(type, ...) (printf(__VA_ARGS__), exit((type) == &mp_type_ValueError ? 4 : 5))

static inline void *standin_malloc(size_t size, const mp_obj_type_t *type)
{
    mp_obj_base_t *made = malloc(size);
    made->type = type;
    return made;
}
#define mp_obj_malloc(struct_type, type) ((struct_type *)standin_malloc(sizeof(struct_type), type))

static inline intptr_t mp_obj_get_int(mp_obj_t number)
{
    return (intptr_t)number;
}

static inline float mp_obj_get_float_to_f(mp_obj_t number)
{
    return *(const float *)number;
}

static inline mp_obj_t mp_obj_new_float_from_f(float number)
{
    float *made = malloc(sizeof *made);
    *made = number;
    return made;
}

static inline mp_obj_t mp_obj_new_bool(bool value)
{
    return value ? (mp_obj_t)&mp_type_module : NULL;
}

#endif
