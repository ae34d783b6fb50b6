// Runs a graph model of TensorFlow.js on inputs from stdin: node run_tfjs_graph.cjs FOLDER, with @tensorflow/tfjs installed.

const fs = require("fs");
const path = require("path");
const tf = require("@tensorflow/tfjs");

(async () => {
  const {inputs, names} = JSON.parse(fs.readFileSync(0, "utf8"));
  const model = JSON.parse(fs.readFileSync(path.join(process.argv[2], "model.json"), "utf8"));
  const bytes = fs.readFileSync(path.join(process.argv[2], "group1-shard1of1.bin"));
  const weightData = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const weightSpecs = model.weightsManifest[0].weights;
  const loaded = await tf.loadGraphModel(tf.io.fromMemory({...model, weightSpecs, weightData}));
  const given = {};
  inputs.forEach((x, i) => (given[names[0][i]] = tf.tensor(x.data, x.shape, x.dtype)));
  const ys = await loaded.executeAsync(given, names[1]);
  const list = Array.isArray(ys) ? ys : [ys];
  const made = list.map((y) => ({data: Array.from(y.dataSync()), shape: y.shape, dtype: y.dtype}));
  console.log(JSON.stringify(made));
})();
