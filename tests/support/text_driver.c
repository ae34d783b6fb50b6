/* Calls the text functions of a library `net`: `tokens` encodes texts and decodes what comes of it, `sample` draws
 * tokens. Numbers are 4 bytes, on stdin and on stdout, the lowest first, and texts have their length in front. */
#include "net_tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_exactly(void *to, size_t size)
{
    if (size && fread(to, 1, size, stdin) != size)
        exit(0);
}

static uint32_t read32(void)
{
    unsigned char b[4] = {0};
    read_exactly(b, sizeof b);
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static float read_float(void)
{
    const uint32_t bits = read32();
    float found;
    memcpy(&found, &bits, sizeof found);
    return found;
}

static void write32(int32_t value)
{
    for (int shift = 0; shift < 32; shift += 8)
        putchar((int)((uint32_t)value >> shift & 255u));
}

/* Memory of exactly this size, so that sanitizers see what is read or written beyond. */
static void *exactly(size_t size)
{
    void *made = malloc(size ? size : 1);
    if (made == NULL)
        exit(2);
    return made;
}

/* A text, and the number of elements that there are, 0 for enough: the tokens, and the text of each. */
static void tokens_of_text(void)
{
    const uint32_t bytes = read32(), limit = read32();
    const size_t room = limit ? limit : (size_t)NET_TOKEN_ROOM(bytes);
    char *text = exactly(bytes), *out = exactly(NET_TOKEN_TEXT);
    int32_t *tokens = exactly(room * sizeof *tokens);
    struct net_text stream;
    read_exactly(text, bytes);
    const int32_t count = net_encode(text, bytes, 1, tokens, room);
    write32(count);
    net_text_begin(&stream);
    for (int32_t i = 0; i <= count; i++) {
        const int32_t size = i < count ? net_text_add(&stream, tokens[i], out) : net_text_end(&stream, out);
        write32(i < count ? tokens[i] : -1);
        write32(size);
        fwrite(out, 1, (size_t)size, stdout);
    }
    free(tokens);
    free(out);
    free(text);
}

/* Settings, a text, and logits: the token. */
static void token_of_logits(void)
{
    struct net_sampler s;
    s.temperature = read32();
    s.top_k = read32();
    s.top_p = read32();
    s.repetition_penalty = read_float();
    s.seed = read32();
    s.seed |= (uint64_t)read32() << 32;
    const uint32_t drawn = read32(), count = read32(), words = read32();
    int32_t *text = exactly(count * sizeof *text);
    float *logits = exactly(words * sizeof *logits);
    for (uint32_t i = 0; i < count; i++)
        text[i] = (int32_t)read32();
    for (uint32_t i = 0; i < words; i++)
        logits[i] = read_float();
    write32(net_sample(&s, logits, (int32_t)words, text, (int32_t)count, drawn));
    free(logits);
    free(text);
}

int main(int argc, char **argv)
{
    for (;;) {
        if (argc > 1 && strcmp(argv[1], "sample") == 0)
            token_of_logits();
        else
            tokens_of_text();
    }
}
