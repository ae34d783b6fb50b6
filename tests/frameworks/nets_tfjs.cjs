// Small nets of TensorFlow.js, saved, and what they compute: node nets_tfjs.cjs FOLDER, with @tensorflow/tfjs installed.
// Each folder gets model.json, weights.bin and io.json; record_tfjs.py makes npz files of the last.

const fs = require("fs");
const path = require("path");
const tf = require("@tensorflow/tfjs");

const L = tf.layers;
let seed = 1;

/** Uniform numbers of a fixed generator. */
function uniform(shape, low = -1, high = 1) {
  const made = new Float32Array(shape.reduce((a, b) => a * b, 1));
  for (let i = 0; i < made.length; i++) {
    seed = (seed * 48271) % 2147483647;
    made[i] = low + ((high - low) * seed) / 2147483647;
  }
  return tf.tensor(made, shape);
}

/** A functional model of one input. */
function model(shape, build, options = {}) {
  const x = tf.input({shape, name: "x", ...options});
  return tf.model({inputs: x, outputs: build(x)});
}

const NETS = {
  images: () =>
    tf.sequential({
      layers: [
        L.conv2d({inputShape: [12, 12, 3], filters: 8, kernelSize: 3, padding: "same", strides: 2}),
        L.batchNormalization(),
        L.reLU({maxValue: 6}),
        L.depthwiseConv2d({kernelSize: 3, padding: "same", depthMultiplier: 2}),
        L.activation({activation: "selu"}),
        L.separableConv2d({filters: 12, kernelSize: 3, activation: "relu"}),
        L.maxPooling2d({poolSize: 2}),
        L.dropout({rate: 0.2}),
        L.flatten(),
        L.dense({units: 5, activation: "softmax"}),
      ],
    }),
  moves: () =>
    model([6, 8, 4], (x) => {
      const padded = L.zeroPadding2d({padding: [[1, 0], [2, 1]]}).apply(x);
      const cropped = L.cropping2D({cropping: [[1, 0], [2, 1]]}).apply(padded);
      const grown = L.conv2dTranspose({filters: 4, kernelSize: 3, strides: 2, padding: "same"}).apply(cropped);
      const nearest = L.upSampling2d({size: [2, 2]}).apply(x);
      const linear = L.upSampling2d({size: [2, 2], interpolation: "bilinear"}).apply(x);
      const sum = L.add().apply([grown, nearest, linear]);
      const both = [L.multiply().apply([sum, nearest]), L.maximum().apply([sum, linear])];
      const more = [L.minimum().apply([grown, linear]), L.average().apply([grown, linear])];
      const joined = L.concatenate({axis: -1}).apply([...both, ...more]);
      const turned = L.permute({dims: [3, 1, 2]}).apply(L.averagePooling2d({poolSize: 3, padding: "same"}).apply(joined));
      const rows = L.reshape({targetShape: [16, -1]}).apply(turned);
      return [L.dot({axes: [2, 2]}).apply([rows, rows]), L.globalMaxPooling2d({}).apply(joined)];
    }),
  lines: () =>
    model([16, 3], (x) => {
      const wide = L.conv1d({filters: 6, kernelSize: 3, dilationRate: 2, activation: "elu"}).apply(x);
      const norm = L.layerNormalization().apply(wide);
      const leaky = L.leakyReLU({alpha: 0.2}).apply(norm);
      const learnt = L.prelu({alphaInitializer: "glorotNormal", sharedAxes: [1]}).apply(leaky);
      const pooled = L.maxPooling1d({poolSize: 2}).apply(L.elu().apply(learnt));
      const means = L.averagePooling1d({poolSize: 3, strides: 1, padding: "same"}).apply(pooled);
      const cut = L.thresholdedReLU({theta: 0.1}).apply(means);
      const soft = L.softmax({axis: -1}).apply(L.gaussianNoise({stddev: 1}).apply(cut));
      return [soft, L.globalAveragePooling1d().apply(cut), L.globalMaxPooling1d().apply(means)];
    }),
  activations: () =>
    model([7], (x) => {
      const names = ["linear", "tanh", "sigmoid", "hardSigmoid", "softplus", "softsign", "relu6", "swish", "mish", "gelu"];
      return L.concatenate().apply(names.map((activation) => L.dense({units: 4, activation}).apply(x)));
    }),
  recurrent: () =>
    model([5, 4], (x) => {
      const steps = L.lstm({units: 6, returnSequences: true}).apply(x);
      const plain = L.gru({units: 5, recurrentActivation: "sigmoid", returnSequences: true}).apply(steps);
      const both = L.bidirectional({layer: L.lstm({units: 3, returnSequences: true}), mergeMode: "concat"}).apply(plain);
      const each = L.timeDistributed({layer: L.dense({units: 4})}).apply(both);
      const last = L.simpleRNN({units: 4}).apply(each);
      const again = L.repeatVector({n: 3}).apply(last);
      return [L.rnn({cell: L.gruCell({units: 3})}).apply(again), L.bidirectional({layer: L.gru({units: 2}), mergeMode: "sum"}).apply(each)];
    }),
  words: () =>
    model([6], (x) => {
      const rows = L.embedding({inputDim: 20, outputDim: 4}).apply(x);
      return L.dense({units: 3}).apply(L.flatten().apply(L.spatialDropout1d({rate: 0.1}).apply(rows)));
    }, {dtype: "int32"}),
  nested: () => {
    const shared = L.dense({units: 4, activation: "relu", name: "twice"});
    const inner = tf.sequential({name: "inner", layers: [L.dense({units: 4, inputShape: [4], name: "first"}), L.activation({activation: "tanh"})]});
    const middle = model([4], (x) => L.add().apply([L.dense({units: 4, name: "beside"}).apply(x), inner.apply(x)]));
    return model([4], (x) => L.dense({units: 2, useBias: false}).apply(middle.apply(shared.apply(shared.apply(x)))));
  },
  volumes: () =>
    tf.sequential({
      layers: [
        L.conv3d({inputShape: [4, 6, 6, 2], filters: 4, kernelSize: 3, padding: "same", activation: "relu"}),
        L.maxPooling3d({poolSize: 2}),
        L.conv3dTranspose({filters: 2, kernelSize: 2, strides: 2}),
        L.averagePooling3d({poolSize: 2}),
        L.flatten(),
        L.dense({units: 3}),
      ],
    }),
};
const QUANTIZED = {uint8: 255, uint16: 65535};

/** Weights as the converter quantizes them: a scale and a minimum of each tensor, or floats of 16 bits. */
function quantized(artifacts, dtype) {
  const floats = new Float32Array(artifacts.weightData);
  const parts = [];
  let at = 0;
  const specs = artifacts.weightSpecs.map((spec) => {
    const count = spec.shape.reduce((a, b) => a * b, 1);
    const values = floats.subarray(at, at + count);
    at += count;
    if (dtype === "float16") {
      parts.push(Buffer.from(Uint16Array.from(values, half).buffer));
      return {...spec, quantization: {dtype}};
    }
    const min = Math.min(...values);
    const scale = (Math.max(...values) - min) / QUANTIZED[dtype] || 1;
    const integers = Array.from(values, (v) => Math.round((v - min) / scale));
    parts.push(Buffer.from((dtype === "uint8" ? Uint8Array : Uint16Array).from(integers).buffer));
    return {...spec, quantization: {dtype, min, scale}};
  });
  const bytes = Buffer.concat(parts);
  return {...artifacts, weightSpecs: specs, weightData: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)};
}

/** A number's float16, cut off. */
function half(value) {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0];
  const exponent = ((bits >> 23) & 255) - 112;
  return exponent <= 0 ? 0 : ((bits >> 16) & 0x8000) | (exponent << 10) | ((bits >> 13) & 1023);
}

async function record(folder, name, net, dtype) {
  let artifacts;
  await net.save(tf.io.withSaveHandler(async (given) => ((artifacts = given), {modelArtifactsInfo: {}})));
  if (dtype) artifacts = quantized(artifacts, dtype);
  const loaded = await tf.loadLayersModel(tf.io.fromMemory(artifacts));
  const xs = loaded.inputs.map((x) => {
    const shape = [1, ...x.shape.slice(1)];
    return x.dtype === "int32" ? tf.cast(uniform(shape, 0, 20), "int32") : uniform(shape);
  });
  const made = loaded.predict(xs);
  const ys = Array.isArray(made) ? made : [made];
  const place = path.join(folder, name);
  fs.mkdirSync(place, {recursive: true});
  const {weightData, weightSpecs, ...rest} = artifacts;
  const data = Buffer.from(weightData);
  const middle = Math.floor(data.length / 2);
  fs.writeFileSync(path.join(place, "group1-shard1of2.bin"), data.subarray(0, middle));
  fs.writeFileSync(path.join(place, "group1-shard2of2.bin"), data.subarray(middle));
  const manifest = [{paths: [1, 2].map((i) => `group1-shard${i}of2.bin`), weights: weightSpecs}];
  fs.writeFileSync(path.join(place, "model.json"), JSON.stringify({...rest, weightsManifest: manifest}));
  const arrays = {};
  for (const [kind, given] of [["x", xs], ["y", ys]]) {
    given.forEach((t, i) => (arrays[`${kind}${i}`] = {shape: t.shape, dtype: t.dtype, data: Array.from(t.dataSync())}));
  }
  fs.writeFileSync(path.join(place, "io.json"), JSON.stringify(arrays));
}

/** Weights as training leaves them: no scale is 1, no offset and no mean is 0. */
function settle(net) {
  net.setWeights(net.getWeights().map((w, i) => {
    const name = net.weights[i].name;
    return /gamma|variance/.test(name) ? uniform(w.shape, 0.5, 1.5) : uniform(w.shape, -0.5, 0.5);
  }));
  return net;
}

(async () => {
  for (const [name, make] of Object.entries(NETS)) await record(process.argv[2], name, settle(make()));
  for (const dtype of ["uint8", "uint16", "float16"]) await record(process.argv[2], dtype, settle(NETS.images()), dtype);
})();
