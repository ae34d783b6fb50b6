/* Compiled kernels between runs: drivers accept what was cut off or belongs to another driver, so it is checked here. */
#ifndef EDGEKIT_GPU_CACHE_H
#define EDGEKIT_GPU_CACHE_H

#include "edgekit/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EK_GPU_KEY 24 /* characters of a key, with its end */
#define EK_GPU_PATH 512
#define EK_GPU_KEPT ((size_t)1 << 28) /* bytes of compiled kernels that are read, at most */

struct ek_gpu_kept {
    uint64_t source; /* what was compiled, for what */
    uint64_t size; /* bytes that follow */
    uint64_t sum; /* of them */
};

/* FNV-1a. */
static uint64_t ek_gpu_hash(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *const bytes = (const unsigned char *)data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

/* The file name of what has this hash. */
static void ek_gpu_key(char *key, uint64_t hash, const char *end)
{
    for (int i = 0; i < 16; i++)
        key[i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 15];
    memcpy(key + 16, end, strlen(end) + 1);
}

static int ek_gpu_path(char *path, const char *folder, const char *key)
{
    const int size = snprintf(path, EK_GPU_PATH, "%s/%s", folder, key);
    return size > 0 && size < EK_GPU_PATH;
}

static size_t ek_gpu_load(const struct ek_gpu_config *config, const char *key, void *data, size_t size)
{
    char path[EK_GPU_PATH];
    if (config->load)
        return config->load(config->user, key, data, size);
    FILE *const file =
        config->cache_folder && ek_gpu_path(path, config->cache_folder, key) ? fopen(path, "rb") : NULL;
    if (!file)
        return 0;
    long end = fseek(file, 0, SEEK_END) ? 0 : ftell(file);
    rewind(file);
    if (size && fread(data, 1, size, file) < size && (size_t)end >= size)
        end = 0;
    fclose(file);
    return end > 0 ? (size_t)end : 0;
}

/* A file is there as a whole or not at all. */
static void ek_gpu_store(const struct ek_gpu_config *config, const char *key, const void *data, size_t size)
{
    char path[EK_GPU_PATH], made[EK_GPU_PATH];
    if (config->store) {
        config->store(config->user, key, data, size);
        return;
    }
    if (!config->cache_folder || !ek_gpu_path(path, config->cache_folder, key))
        return;
    if (!size) {
        remove(path);
        return;
    }
    if (snprintf(made, sizeof made, "%s.new", path) >= (int)sizeof made)
        return;
    FILE *const file = fopen(made, "wb");
    if (!file)
        return;
    const int is_whole = fwrite(data, 1, size, file) == size;
    if (fclose(file) || !is_whole || (rename(made, path) && (remove(path) || rename(made, path))))
        remove(made); /* some systems rename to no name that is taken */
}

/* The bytes that were kept for a source, to be freed; NULL where there are none that are whole. */
static unsigned char *ek_gpu_kept(
    const struct ek_gpu_config *config, const char *key, uint64_t source, size_t *size)
{
    struct ek_gpu_kept head;
    const size_t all = ek_gpu_load(config, key, NULL, 0);
    const int is_read = all > sizeof head && all <= EK_GPU_KEPT;
    unsigned char *const data = is_read ? (unsigned char *)malloc(all) : NULL;
    if (!data)
        return NULL;
    if (ek_gpu_load(config, key, data, all) == all) {
        memcpy(&head, data, sizeof head);
        *size = all - sizeof head;
        if (head.source == source && head.size == *size
            && head.sum == ek_gpu_hash(source, data + sizeof head, *size)) {
            memmove(data, data + sizeof head, *size);
            return data;
        }
    }
    free(data);
    return NULL;
}

static void ek_gpu_keep(const struct ek_gpu_config *config, const char *key, uint64_t source,
    const unsigned char *data, size_t size)
{
    const struct ek_gpu_kept head = {source, size, ek_gpu_hash(source, data, size)};
    unsigned char *const all = (unsigned char *)malloc(sizeof head + size);
    if (!all)
        return;
    memcpy(all, &head, sizeof head);
    memcpy(all + sizeof head, data, size);
    ek_gpu_store(config, key, all, sizeof head + size);
    free(all);
}

#endif
