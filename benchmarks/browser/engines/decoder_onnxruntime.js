// ONNX Runtime on the processor, with the cache as past and present: a loop that takes the most probable token.
import * as ort from "onnxruntime-web/wasm";

const longs = (numbers) => new ort.Tensor("int64", BigInt64Array.from(numbers, BigInt), [1, numbers.length]);

export async function load({ model, ids, threads, heads, width }) {
  ort.env.wasm.numThreads = threads;
  ort.env.wasm.wasmPaths = String(new URL("../runtime/", location.href));
  const session = await ort.InferenceSession.create(model, { executionProviders: ["wasm"] });
  const caches = session.inputNames.filter((name) => name.startsWith("past"));
  const empty = new ort.Tensor("float32", new Float32Array(0), [1, heads, 0, width]);
  return async (tokens) => {
    const times = [];
    let feeds = Object.fromEntries(caches.map((name) => [name, empty]));
    let [given, known] = [ids, 0];
    while (times.length < tokens) {
      known += given.length;
      const results = await session.run({
        ...feeds,
        input_ids: longs(given),
        attention_mask: longs(new Array(known).fill(1)),
      });
      const logits = results.logits.data;
      let best = 0;
      for (let i = 1; i < logits.length; i++) if (logits[i] > logits[best]) best = i;
      given = [best];
      times.push(performance.now());
      feeds = Object.fromEntries(
        caches.map((name) => [name, results[name.replace("past_key_values", "present")]]),
      );
    }
    return times;
  };
}
