// TensorFlow.js with its backend for WebAssembly: a list of fused operators, each a call, as its converter makes them.
import { setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
import * as tf from "@tensorflow/tfjs-core";

const operators = {
  conv: ({ strides, pad, activation }, [x], [filter, bias]) =>
    tf.fused.conv2d({ x, filter, strides, pad, bias, activation }),
  depthwise: ({ strides, pad, activation }, [x], [filter, bias]) =>
    tf.fused.depthwiseConv2d({ x, filter, strides, pad, bias, activation }),
  dense: ({ activation }, [a], [b, bias]) => tf.fused.matMul({ a, b, bias, activation }),
  mean: ({ size, strides }, [x]) => tf.avgPool(x, size, strides, "valid"),
  reshape: ({ shape }, [x]) => tf.reshape(x, shape),
  add: (_, [a, b]) => tf.add(a, b),
  relu: (_, [x]) => tf.relu(x),
  softmax: (_, [x]) => tf.softmax(x),
};

export async function load(model) {
  setWasmPaths("../runtime/");
  await tf.setBackend("wasm");
  const file = await (await fetch(model)).arrayBuffer();
  const [size] = new Uint32Array(file, 0, 1);
  const { shape, steps } = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 4, size)));
  const numbers = new Float32Array(file, 4 + size);
  const weightOf = ([shape, start]) =>
    tf.tensor(numbers.slice(start, start + shape.reduce((a, b) => a * b, 1)), shape);
  const calls = steps.map((step) => [operators[step.op], step, step.weights.map(weightOf)]);
  const x = new Float32Array(shape.reduce((a, b) => a * b));
  return () => {
    tf.tidy(() => {
      const values = [tf.tensor(x, shape)];
      for (const [operator, step, weights] of calls)
        values.push(operator(step, step.inputs.map((i) => values[i]), weights));
      values.at(-1).dataSync();
    });
  };
}
