/* One prompt and one token by llama.cpp, for counting: MODEL TOKENS, and what is counted, p or t. */
#include <stdlib.h>

#include "llama.h"

__attribute__((noinline)) void ek_begin(void)
{
    __asm volatile("" ::: "memory");
}
__attribute__((noinline)) void ek_end(void)
{
    __asm volatile("" ::: "memory");
}

int main(int count, char **words)
{
    enum { PROMPT = 64 };
    static llama_token tokens[PROMPT + 1];
    struct llama_context_params wanted = llama_context_default_params();
    struct llama_model *model;
    struct llama_context *context;
    if (count != 3)
        return 2;
    for (int i = 0; i <= PROMPT; i++)
        tokens[i] = (i * 37 + 11) % 32000;
    model = llama_model_load_from_file(words[1], llama_model_default_params());
    wanted.n_ctx = wanted.n_batch = wanted.n_ubatch = 96;
    wanted.n_threads = wanted.n_threads_batch = 1;
    context = llama_init_from_model(model, wanted);
    for (int is_last = 0; is_last < 2; is_last++) { /* what is made in a first run is not counted */
        llama_memory_clear(llama_get_memory(context), true);
        if (is_last && *words[2] == 'p')
            ek_begin();
        if (llama_decode(context, llama_batch_get_one(tokens, PROMPT)))
            return 1;
        llama_synchronize(context);
        if (is_last && *words[2] == 'p')
            ek_end();
        if (is_last && *words[2] == 't')
            ek_begin();
        if (llama_decode(context, llama_batch_get_one(tokens + PROMPT, 1)))
            return 1;
        llama_synchronize(context);
        if (is_last && *words[2] == 't')
            ek_end();
    }
    return 0;
}
