// The shared net in TensorFlow.js, with weights from stdin: node export_tfjs.cjs FOLDER, with @tensorflow/tfjs installed.

const fs = require("fs");
const path = require("path");
const tf = require("@tensorflow/tfjs");

const L = tf.layers;
const given = JSON.parse(fs.readFileSync(0, "utf8"));
const net = tf.sequential({
  layers: [
    L.conv2d({inputShape: [16, 16, 3], filters: 8, kernelSize: 3, padding: "same", name: "conv"}),
    L.batchNormalization({epsilon: given.epsilon, name: "bn"}),
    L.reLU(),
    L.maxPooling2d({poolSize: 2}),
    L.flatten(),
    L.dense({units: 10, name: "fc"}),
  ],
});
const at = (name) => net.getLayer(name);
at("conv").setWeights(given.weights.slice(0, 2).map((w) => tf.tensor(w)));
at("bn").setWeights(given.weights.slice(2, 6).map((w) => tf.tensor(w)));
at("fc").setWeights(given.weights.slice(6).map((w) => tf.tensor(w)));
net.save(tf.io.withSaveHandler(async ({weightData, weightSpecs, ...rest}) => {
  const manifest = [{paths: ["group1-shard1of1.bin"], weights: weightSpecs}];
  fs.writeFileSync(path.join(process.argv[2], "group1-shard1of1.bin"), Buffer.from(weightData));
  fs.writeFileSync(path.join(process.argv[2], "model.json"), JSON.stringify({...rest, weightsManifest: manifest}));
  return {modelArtifactsInfo: {}};
}));
