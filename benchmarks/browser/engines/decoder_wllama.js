// wllama on the processor: text in, and pieces of text out.
import { Wllama } from "@wllama/wllama";

export async function load({ model, text, threads }) {
  const wllama = new Wllama(
    { default: String(new URL("../runtime/wllama.wasm", location.href)) },
    { suppressNativeLog: true },
  );
  await wllama.loadModel([await (await fetch(model)).blob()], {
    n_threads: threads,
    n_gpu_layers: 0,
    n_ctx: 256,
    n_parallel: 1,
    warmup: false,
  });
  return async (tokens) => {
    const times = [];
    const settings = { temperature: 0, max_tokens: tokens, cache_prompt: false, ignore_eos: true };
    await wllama.createCompletion({
      prompt: text,
      ...settings,
      stream: true,
      onData: () => times.push(performance.now()),
    });
    return times.slice(0, tokens); // behind them comes a chunk with the reason of the end
  };
}
