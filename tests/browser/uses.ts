// Right and wrong uses of three packages, for the compiler alone.
import { createModel, inputs, type Model } from "digits";
import { putImage } from "digits/image";
import { createModel as createInline } from "digits/inline";
import { createModelInWorker } from "digits/worker";
import * as several from "several";
import * as severalInWorker from "several/worker";
import * as stream from "stream";

export async function right(canvas: HTMLCanvasElement, response: Response): Promise<number> {
  const model: Model = await createModel({ wasm: new URL("https://example.org/digits.wasm") });
  await createModel({ wasm: response });
  await createModel({ wasm: new Uint8Array(8) });
  const y: Int8Array = model.run(new Int8Array(64));
  model.run();
  model.input.set([1, 2, 3]);
  putImage(canvas, model.input, { mean: [1], std: 2 });
  const same: Int8Array = (await createInline()).output;
  const there: Int8Array = await (await createModelInWorker()).run(model.input, { transfer: false });
  const both: several.Outputs = (await several.createModel()).run({ a: new Int16Array(4) });
  const second: Int16Array = Object.values(both)[1];
  const answers: severalInWorker.Outputs = await (
    await severalInWorker.createModelInWorker()
  ).run({ a: second, b: second });
  (await stream.createModel()).reset();
  model.input[0] = inputs.x.quantize(0.5);
  const real: number = inputs.x.dequantize(model.input[0]) * inputs.x.scale;
  model.dispose();
  return real + y.length + same.length + there.length + inputs.x.shape.length + Object.keys(answers).length;
}

export async function wrong(model: Model): Promise<void> {
  // @ts-expect-error: floats for an int8 model
  model.run(new Float32Array(64));
  // @ts-expect-error: a list
  model.run([1, 2, 3]);
  // @ts-expect-error: views cannot be replaced
  model.input = new Int8Array(64);
  // @ts-expect-error: no states
  model.reset();
  // @ts-expect-error: integers that stand for nothing else
  several.inputs.a.quantize(0.5);
  // @ts-expect-error: no such input
  inputs.z;
  // @ts-expect-error: nothing is fetched
  await createInline({ wasm: new Uint8Array(8) });
  // @ts-expect-error: a promise
  (await createModelInWorker()).run(model.input).length;
  // @ts-expect-error: there are several inputs
  (await several.createModel()).input;
  // @ts-expect-error: no such input
  (await several.createModel()).run({ c: new Int16Array(4) });
}
