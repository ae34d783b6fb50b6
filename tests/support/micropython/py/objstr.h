#include "py/obj.h"

typedef struct {
    mp_obj_base_t base;
    size_t hash, len;
    const byte *data;
} mp_obj_str_t;

#define MP_DEFINE_STR_OBJ(name, text)                                                                        \
    mp_obj_str_t name = {{&mp_type_str}, 0, sizeof(text) - 1, (const byte *)text}
