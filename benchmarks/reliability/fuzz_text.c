/* libFuzzer on the text functions of a library `net`: texts of any bytes, tokens of any number, and logits of any bits,
 * in memory of exactly the sizes that the header states. */
#include "net_tokenizer.h"

#include <stdlib.h>
#include <string.h>

static void *exactly(size_t size)
{
    void *made = malloc(size ? size : 1);
    if (!made)
        abort();
    return made;
}

static void *copied(const void *from, size_t size)
{
    void *made = exactly(size);
    memcpy(made, from, size);
    return made;
}

static void check(int holds)
{
    if (!holds)
        abort();
}

static void write_text(const int32_t *tokens, int32_t count)
{
    char *out = exactly(NET_TOKEN_TEXT);
    struct net_text stream;
    net_text_begin(&stream);
    for (int32_t i = 0; i <= count; i++) {
        const int32_t size = i < count ? net_text_add(&stream, tokens[i], out) : net_text_end(&stream, out);
        check(size >= 0 && size <= NET_TOKEN_TEXT);
    }
    free(out);
}

static void encode(int how, const uint8_t *data, size_t size)
{
    const size_t most = (size_t)NET_TOKEN_ROOM(size), room = how & 4 ? size / 2 : most;
    char *text = copied(data, size);
    int32_t *tokens = exactly(room * sizeof *tokens);
    const int32_t count = net_encode(text, size, how & 8, tokens, room);
    check(count == NET_NOT_UTF8 || (count == NET_NO_ROOM && room < most)
          || (count >= 0 && (size_t)count <= room));
    for (int32_t i = 0; i < count; i++)
        check(tokens[i] >= 0 && tokens[i] < NET_TOKENS);
    write_text(tokens, count < 0 ? 0 : count);
    free(tokens);
    free(text);
}

static void decode(int how, const uint8_t *data, size_t size)
{
    const int32_t count = (int32_t)(size / 4);
    int32_t *tokens = copied(data, size);
    for (int32_t i = 0; how & 4 && i < count; i++)
        tokens[i] = (int32_t)((uint32_t)tokens[i] % NET_TOKENS);
    write_text(tokens, count);
    for (int32_t i = 0; i < count; i++)
        (void)net_ends_text(tokens[i]);
    free(tokens);
}

static void sample(int how, const uint8_t *data, size_t size)
{
    struct net_sampler settings;
    if (size < sizeof settings + 8)
        return;
    memcpy(&settings, data, sizeof settings);
    if (how & 4) { /* as the header has them */
        settings.temperature = settings.temperature % NET_FIXED(100);
        settings.top_p = settings.top_p % NET_FIXED(1);
        settings.repetition_penalty = 1.25f;
    }
    data += sizeof settings, size -= sizeof settings;
    const int32_t words = 1 + (int32_t)(size / 4 - 1) / 2, count = (int32_t)(size / 4) - words;
    float *logits = copied(data, (size_t)words * 4);
    int32_t *text = copied(data + words * 4, (size_t)count * 4);
    for (int32_t i = 0; how & 8 && i < count; i++)
        text[i] = (int32_t)((uint32_t)text[i] % (uint32_t)words);
    const int32_t token = net_sample(&settings, logits, words, text, count, (uint32_t)how);
    check(token >= 0 && token < words);
    free(text);
    free(logits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    void (*const calls[])(int how, const uint8_t *data, size_t size) = {encode, decode, sample, encode};
    calls[data[0] & 3](data[0] >> 2 << 2, data + 1, size - 1);
    return 0;
}
