// LiteRT.js on the processor, in one thread: a tensor that is there, a run, the numbers that come out.
import { loadAndCompile, loadLiteRt, Tensor } from "@litertjs/core";

export async function load(model) {
  await loadLiteRt("../runtime/");
  const compiled = await loadAndCompile(String(model), { accelerator: "wasm" });
  const [{ shape }] = compiled.getInputDetails();
  const x = new Tensor(new Float32Array(shape.reduce((a, b) => a * b)), Array.from(shape));
  return async () => {
    const results = await compiled.run(x);
    for (const y of results) {
      y.toTypedArray();
      y.delete();
    }
  };
}
