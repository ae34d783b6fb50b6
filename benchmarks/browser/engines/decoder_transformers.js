// transformers.js, by its own `generate`.
import { AutoModelForCausalLM, BaseStreamer, Tensor, env } from "@huggingface/transformers";

/** Notes when tokens come; the first that it gets are those of the prompt. */
class Clock extends BaseStreamer {
  times = [];
  #had = false;
  put() {
    if (this.#had) this.times.push(performance.now());
    this.#had = true;
  }
  end() {}
}

export async function load({ ids, threads, dtype }) {
  env.allowLocalModels = true;
  env.allowRemoteModels = false;
  env.localModelPath = String(new URL("./", location.href));
  env.useBrowserCache = false;
  env.backends.onnx.wasm.numThreads = threads;
  env.backends.onnx.wasm.proxy = false;
  env.backends.onnx.wasm.wasmPaths = String(new URL("../runtime/", location.href));
  const model = await AutoModelForCausalLM.from_pretrained("folder", { dtype, device: "wasm" });
  const longs = (numbers) => new Tensor("int64", BigInt64Array.from(numbers, BigInt), [1, numbers.length]);
  return async (tokens) => {
    const streamer = new Clock();
    await model.generate({
      inputs: longs(ids),
      attention_mask: longs(ids.map(() => 1)),
      max_new_tokens: tokens,
      do_sample: false,
      streamer,
    });
    return streamer.times;
  };
}
