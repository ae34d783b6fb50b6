// ONNX Runtime on the processor, with the encoder.
import * as ort from "onnxruntime-web/wasm";

export async function load(model) {
  ort.env.wasm.numThreads = THREADS;
  ort.env.wasm.wasmPaths = String(new URL("../runtime/", location.href));
  const session = await ort.InferenceSession.create(String(model), { executionProviders: ["wasm"] });
  const { ids } = PROMPT;
  const input_ids = new ort.Tensor("int64", BigInt64Array.from(ids, BigInt), [1, ids.length]);
  return async () => {
    await session.run({ input_ids });
  };
}
