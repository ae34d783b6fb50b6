// ONNX Runtime on the processor, in one thread.
import * as ort from "onnxruntime-web/wasm";

export async function load(model) {
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = String(new URL("../runtime/", location.href));
  const session = await ort.InferenceSession.create(String(model), { executionProviders: ["wasm"] });
  const [name] = session.inputNames;
  const shape = session.inputMetadata[0].shape.map((size) => (typeof size === "number" ? size : 1));
  const x = new ort.Tensor("float32", new Float32Array(shape.reduce((a, b) => a * b)), shape);
  return async () => {
    await session.run({ [name]: x });
  };
}
