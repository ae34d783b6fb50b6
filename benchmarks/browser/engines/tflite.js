// tfjs-tflite without tensors of TensorFlow.js around it: a copy into the input, a run, a copy of the output.
import { loadTFLiteModel, setWasmPath } from "@tensorflow/tfjs-tflite/dist/tf-tflite.fesm.min.js";

export async function load(model) {
  setWasmPath("../runtime/");
  const { modelRunner } = await loadTFLiteModel(String(model), { numThreads: 1 });
  const [input] = modelRunner.getInputs();
  const [output] = modelRunner.getOutputs();
  const x = input.data().slice();
  return () => {
    input.data().set(x);
    if (!modelRunner.infer()) throw new Error("tfjs-tflite did not run");
    output.data().slice();
  };
}
