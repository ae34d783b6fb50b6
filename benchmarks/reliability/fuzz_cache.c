/* libFuzzer on what the OpenCL runtime keeps of compiled kernels: bytes that a file or the caller gives. */
#include "edgekit/gpu_cache.h"

#include <unistd.h>

struct stored {
    const uint8_t *data;
    size_t size; /* that are there */
    size_t said[2]; /* by the first call and by the second */
    int calls;
};

static size_t load(void *user, const char *key, void *data, size_t size)
{
    struct stored *const from = user;
    const size_t said = from->said[from->calls++ & 1];
    (void)key;
    if (data && size)
        memcpy(data, from->data, size < from->size ? size : from->size);
    return said;
}

static void used(unsigned char *kept, size_t size)
{
    unsigned sum = 0;
    if (!kept)
        return;
    for (size_t i = 0; i < size; i++)
        sum += kept[i];
    *(volatile unsigned *)&sum = sum;
    free(kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t source = 0x1234;
    static char folder[] = "/tmp/edgekit-fuzz-XXXXXX";
    static int made;
    if (size < 3)
        return 0;
    const int how = data[0], more = data[1];
    size_t found = 0;
    uint8_t *const content = malloc(size - 2);
    memcpy(content, data + 2, size - 2);
    const size_t all = size - 2;
    if (how & 1 && all > sizeof(struct ek_gpu_kept)) { /* a right head, which no fuzzer guesses */
        struct ek_gpu_kept head = {source, all - sizeof head, 0};
        head.sum = ek_gpu_hash(source, content + sizeof head, head.size);
        memcpy(content, &head, sizeof head);
    }
    struct ek_gpu_config config;
    memset(&config, 0, sizeof config);
    if (how & 2) {
        struct stored from = {content, all, {all, all}, 0};
        if (how & 4)
            from.said[0] = more < 128 ? (size_t)more : (size_t)-1 >> (more & 63);
        if (how & 8)
            from.said[1] = (size_t)more;
        config.load = load;
        config.user = &from;
        used(ek_gpu_kept(&config, "0123456789abcdef.ekcl", source, &found), found);
    } else {
        char path[EK_GPU_PATH], key[EK_GPU_KEY];
        if (!made && !mkdtemp(folder))
            abort();
        made = 1;
        config.cache_folder = folder;
        ek_gpu_key(key, source, ".ekcl");
        ek_gpu_store(&config, key, content, all);
        used(ek_gpu_kept(&config, key, source, &found), found);
        if (how & 4) { /* what was kept comes back */
            ek_gpu_keep(&config, key, source, content, all);
            unsigned char *const back = ek_gpu_kept(&config, key, source, &found);
            if (!back || found != all || memcmp(back, content, all))
                abort();
            free(back);
        }
        if (ek_gpu_path(path, folder, key))
            remove(path);
    }
    free(content);
    return 0;
}
