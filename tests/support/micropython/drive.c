/* Runs a module: drive INPUTS TYPECODE:BYTES... names how many inputs there are, and all ports, inputs first.
 * `drive NAME` prints the strings of a tuple, with their bytes in front. `drive quantize PORT BYTES...` reads floats from
 * `numbers` and writes what each port makes of them, of so many bytes, to PORT.integers and PORT.reals. The first reads the inputs of each run from `given` and writes the outputs to `found`, twice, with a reset in front. */
#include "py/objstr.h"
#include "py/objtuple.h"
#include "py/runtime.h"

#include <ctype.h>
#include <string.h>

const mp_obj_type_t mp_type_module = {"module", NULL, NULL}, mp_type_str = {"str", NULL, NULL},
                    mp_type_tuple = {"tuple", NULL, NULL}, mp_type_ValueError = {"ValueError", NULL, NULL};

static const void *find(const mp_obj_dict_t *dict, const char *name)
{
    for (size_t i = 0; i < dict->count; i++) {
        if (!strcmp(dict->items[i].key, name)) {
            return dict->items[i].value;
        }
    }
    return NULL;
}

static int strings(const mp_rom_obj_tuple_t *tuple)
{
    for (size_t i = 0; i < tuple->len; i++) {
        const mp_obj_str_t *text = tuple->items[i];
        if (tuple->base.type != &mp_type_tuple || text->base.type != &mp_type_str) {
            return 1;
        }
        printf("%zu %s\n", text->len, (const char *)text->data);
    }
    return 0;
}

static const mp_fun_t *function(const char *port, const char *word)
{
    char name[64];
    snprintf(name, sizeof name, "MP_QSTR_%s_%s", port, word);
    return find(registered->globals, name);
}

static int quantize(const char *port, size_t bytes)
{
    const mp_fun_t *there = function(port, "quantize"), *back = function(port, "dequantize");
    char name[64];
    snprintf(name, sizeof name, "%s.integers", port);
    FILE *from = fopen("numbers", "rb"), *integers = fopen(name, "wb");
    snprintf(name, sizeof name, "%s.reals", port);
    FILE *reals = fopen(name, "wb");
    float number;
    while (fread(&number, sizeof number, 1, from) == 1) {
        mp_obj_t integer = there->one(&number);
        fwrite(&integer, bytes, 1, integers);
        fwrite(back->one(integer), sizeof number, 1, reals);
    }
    snprintf(name, sizeof name, "%s_ZERO", port);
    for (char *at = name; *at; at++) {
        *at = (char)toupper(*at);
    }
    char zero[80];
    snprintf(zero, sizeof zero, "MP_QSTR_%s", name);
    mp_obj_t next = (mp_obj_t)((intptr_t)find(registered->globals, zero) + 1);
    const int wrong = *(float *)back->one(next) != *(float *)function(port, "scale")->none();
    return wrong || fclose(from) || fclose(integers) || fclose(reals);
}

int main(int count, char **words)
{
    if (count > 2 && !strcmp(words[1], "quantize")) {
        for (int i = 2; i < count; i += 2) {
            if (quantize(words[i], strtoul(words[i + 1], NULL, 10))) {
                return 6;
            }
        }
        return 0;
    }
    if (count == 2) {
        return strings(find(registered->globals, words[1]));
    }
    const mp_obj_type_t *type = find(registered->globals, "MP_QSTR_Model");
    mp_obj_t model = type->make_new(type, 0, 0, NULL);
    const mp_fun_t *run = find(type->locals_dict, "MP_QSTR_run"),
                   *reset = find(type->locals_dict, "MP_QSTR_reset");
    const mp_fun_t *test = find(type->locals_dict, "MP_QSTR_self_test");
    size_t inputs = strtoul(words[1], NULL, 10), ports = (size_t)count - 2;
    mp_buffer_info_t buffers[32];
    mp_obj_t given[33] = {model};
    FILE *from = fopen("given", "rb"), *to = fopen("found", "wb");
    for (size_t i = 0; i < ports; i++) {
        const char *word = words[i + 2];
        size_t bytes = strtoul(word + 2, NULL, 10);
        buffers[i] = (mp_buffer_info_t){malloc(bytes), bytes, word[0]};
        given[i + 1] = &buffers[i];
    }
    printf("%s %d\n", registered_name, test->one(model) == mp_obj_new_bool(true));
    if (run->least != ports + 1 || run->most != ports + 1) {
        return 1;
    }
    for (int round = 0; round < 2; round++) {
        size_t i = 0;
        rewind(from);
        if (reset) {
            reset->one(model);
        }
        while (fread(buffers[i].buf, 1, buffers[i].len, from) == buffers[i].len) {
            if (++i == inputs) {
                run->several(ports + 1, given);
                for (; i < ports; i++) {
                    fwrite(buffers[i].buf, 1, buffers[i].len, to);
                }
                i = 0;
            }
        }
    }
    return fclose(to);
}
