// A C compiler in a worker, and the module that it made. Messages: {compilation} -> {size}, {run: inputs} ->
// {outputs, times}, all bytes in base64; or {failure}.

const BATCHES = 15; // of runs, each at least BATCH_MS long: the clocks of browsers are coarse
const BATCH_MS = 5;

const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const text = (data) => btoa(data.reduce((all, byte) => all + String.fromCharCode(byte), ""));

// Its largest file is served compressed, whatever the server does.
const plainFetch = globalThis.fetch;
globalThis.fetch = async (url, options) => {
  if (!String(url).endsWith("/llvm.core.wasm")) return plainFetch(url, options);
  const found = await plainFetch(`${url}.gz`, options);
  if (!found.ok) throw new Error(`${url}.gz: ${found.status} ${found.statusText}`);
  const type = { "Content-Type": "application/wasm" };
  return new Response(found.body.pipeThrough(new DecompressionStream("gzip")), { headers: type });
};
const started = import("./clang/bundle.js");

let exports;
let sizes;

async function compile({ files, arguments: words, outputs }) {
  const { runClang } = await started;
  const tree = {};
  for (const [path, data] of Object.entries(files)) {
    const folders = path.split("/");
    const name = folders.pop();
    let at = tree;
    for (const folder of folders) at = at[folder] ??= {};
    at[name] = bytes(data);
  }
  let said = "";
  const stderr = (part) => part && (said += new TextDecoder().decode(part));
  const made = await runClang(words, tree, { fetchProgress: () => {}, decodeASCII: false, stderr }).catch((error) => {
    throw new Error(said || error.message);
  });
  const data = made["module.wasm"];
  ({ exports } = (await WebAssembly.instantiate(data)).instance);
  sizes = outputs;
  return { size: data.length };
}

function run(inputs) {
  const view = (name, size) => new Uint8Array(exports.memory.buffer, exports[name](), size);
  const once = () => {
    exports.reset?.();
    for (const [name, data] of Object.entries(inputs)) {
      const given = bytes(data);
      view(`input_${name}`, given.length).set(given);
    }
    exports.run();
  };
  once();
  const outputs = Object.fromEntries(
    Object.entries(sizes).map(([name, size]) => [name, text(view(`output_${name}`, size))]),
  );
  return { outputs, times: measured() };
}

/** Milliseconds of a run in each of some batches, the shortest first. */
function measured() {
  const times = [];
  for (let count = 1; times.length < BATCHES; ) {
    const start = performance.now();
    for (let i = 0; i < count; i++) exports.run();
    const took = performance.now() - start;
    if (took < BATCH_MS && count < 1 << 16) {
      count *= 2;
      times.length = 0;
    } else {
      times.push(took / count);
      if (took > 50 * BATCH_MS) break; // a slow model: the page shall answer
    }
  }
  return times.sort((a, b) => a - b);
}

onmessage = async ({ data }) => {
  try {
    postMessage(data.compilation ? await compile(data.compilation) : run(data.run));
  } catch (error) {
    postMessage({ failure: String(error.message ?? error) });
  }
};
