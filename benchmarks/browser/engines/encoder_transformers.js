// transformers.js with the encoder.
import { AutoModel, Tensor, env } from "@huggingface/transformers";

export async function load() {
  env.allowLocalModels = true;
  env.allowRemoteModels = false;
  env.localModelPath = String(new URL("./", location.href));
  env.useBrowserCache = false;
  env.backends.onnx.wasm.numThreads = THREADS;
  env.backends.onnx.wasm.proxy = false;
  env.backends.onnx.wasm.wasmPaths = String(new URL("../runtime/", location.href));
  const { ids, dtype } = PROMPT;
  const model = await AutoModel.from_pretrained("folder", { dtype, device: "wasm" });
  const longs = (numbers) => new Tensor("int64", BigInt64Array.from(numbers, BigInt), [1, numbers.length]);
  const [input_ids, attention_mask] = [longs(ids), longs(ids.map(() => 1))];
  return async () => {
    await model({ input_ids, attention_mask });
  };
}
