/* Go on with a text, as Python's reference manual would: ./manual "The return statement" 7 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "manual.h"
#include "manual_tokenizer.h"

enum { POSITIONS = 256, WORDS = MANUAL_LOGITS_SIZE, MAX_TEXT = 1000 };

/* The library allocates nothing: the caller lends it the caches, and memory for each step. */
static struct manual_state caches;
static double arena[MANUAL_ARENA_SIZE / sizeof(double) + 1];
static int32_t tokens[MANUAL_TOKEN_ROOM(MAX_TEXT)];
static float logits[WORDS];

int main(int argc, char **argv)
{
    const char *text = argc > 1 ? argv[1] : "The return statement";
    const struct manual_sampler sampler = {
        .temperature = MANUAL_FIXED(0.7),
        .top_p = MANUAL_FIXED(0.9),
        .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
    };
    char piece[MANUAL_TOKEN_TEXT];
    struct manual_text stream;
    const size_t length = strlen(text);
    int32_t count =
        length > MAX_TEXT ? -1 : manual_encode(text, length, 1, tokens, sizeof tokens / sizeof *tokens);
    const int32_t given = count;
    if (given < 0 || given > POSITIONS) {
        fputs("the text is too long, or not UTF-8\n", stderr);
        return 1;
    }
    manual_reset(&caches);
    manual_text_begin(&stream);
    for (int32_t at = 0; at < count && at < POSITIONS; at++) {
        if (at < given)
            fwrite(piece, 1, (size_t)manual_text_add(&stream, tokens[at], piece), stdout);
        manual_run(&tokens[at], &at, logits, &caches, arena);
        if (at + 1 < given)
            continue;
        const int32_t next = manual_sample(&sampler, logits, WORDS, tokens, count, (uint32_t)(count - given));
        if (manual_ends_text(next))
            break;
        tokens[count++] = next;
        fwrite(piece, 1, (size_t)manual_text_add(&stream, next, piece), stdout);
        fflush(stdout);
    }
    fwrite(piece, 1, (size_t)manual_text_end(&stream, piece), stdout);
    putchar('\n');
    return 0;
}
