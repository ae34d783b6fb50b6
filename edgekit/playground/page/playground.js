// The page: files to the worker, its answers as text and one report in a frame of its own.
const $ = (id) => document.getElementById(id);
const waiting = new Map();
let calls = 0;
let files = {};
let runs = 0;
let isDigits = false; // is the example open?

// EdgeKit starts behind the report of the example, which is there at once.
const shown = new Promise((resolve) =>
  document.readyState === "complete" ? resolve() : addEventListener("load", resolve, { once: true }),
);
const starting = shown.then(() => {
  const worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }) => {
    if (data.progress !== undefined) {
      $("status").textContent = `${data.progress} ...`;
      if (data.share) $("loading").value = data.share;
      return;
    }
    const { resolve, reject } = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.failure !== undefined) reject(new Error(data.failure));
    else resolve(data.answer);
  };
  worker.onerror = (event) => show(`The page could not start: ${event.message}`);
  return worker;
});

const ask = (call, args = {}) =>
  new Promise((resolve, reject) => {
    calls += 1;
    const id = calls;
    waiting.set(id, { resolve, reject });
    starting.then((worker) => worker.postMessage({ id, call, args }));
  });

function show(error, missing = []) {
  $("error").textContent = error;
  $("error").hidden = !error;
  $("missing").hidden = !missing.length;
  $("missing").tBodies[0].replaceChildren(
    ...missing.map(({ name, count, places }) => {
      const row = element("tr");
      const more = count > places.length ? `, and ${count - places.length} more` : "";
      row.append(element("td", name), element("td", count), element("td", places.join(", ") + more));
      return row;
    }),
  );
}

// One step after the other: what the user chooses meanwhile comes next.
let queue = Promise.resolve();
const step = (work) => (queue = queue.then(() => guarded(work)));

async function guarded(work) {
  show("");
  document.body.setAttribute("aria-busy", "true");
  try {
    const began = performance.now();
    await work();
    $("status").textContent = `done in ${((performance.now() - began) / 1000).toFixed(1)} s`;
  } catch (error) {
    $("status").textContent = "";
    show(error.message, error.missing);
  }
  document.body.setAttribute("aria-busy", "false");
}

async function answered(call, args) {
  const answer = await ask(call, args);
  if (answer.error) throw Object.assign(new Error(answer.error), { missing: answer.missing });
  return answer;
}

const element = (name, text = "") => Object.assign(document.createElement(name), { textContent: text });

function facts(found) {
  const shapes = (of) => Object.entries(of).map(([name, type]) => `${name} ${type}`).join(", ");
  const rows = {
    Model: `${found.name} (${found.format})`,
    Inputs: shapes(found.inputs),
    Outputs: shapes(found.outputs),
    Layers: found.layers.toLocaleString("en"),
    Parameters: found.parameters.toLocaleString("en"),
    MACs: found.macs.toLocaleString("en"),
  };
  if (found.missing) rows.Missing = found.missing;
  $("facts").replaceChildren(
    ...Object.entries(rows).map(([name, text]) => {
      const row = element("div");
      row.append(element("dt", name), element("dd", text));
      return row;
    }),
  );
}

// What a link to this page brings back: the options, and the example where it is open.
const LINKED = ["target", "dtype", "optimize"];
function link() {
  const words = new URLSearchParams(LINKED.map((id) => [id, $(id).value]));
  if (isDigits) words.set("model", "digits");
  history.replaceState(null, "", `#${words}`);
  $("link").href = `#${words}`;
}

async function open(files) {
  $("workbench").hidden = true;
  $("workbench").classList.remove("example");
  const found = await answered("open", { files, bindings: $("bindings").value });
  facts(found);
  $("sampled").textContent = "none: int8 calibrates with random numbers";
  $("workbench").hidden = false;
  await build();
}

async function build() {
  const args = Object.fromEntries(["target", "dtype", "optimize"].map((id) => [id, $(id).value]));
  const made = await answered("build", args);
  files = made.files;
  URL.revokeObjectURL($("report").src);
  $("report").src = $("report-file").href = URL.createObjectURL(new Blob([made.report], { type: "text/html" }));
  link();
  const before = $("file").value;
  $("file").replaceChildren(...Object.keys(files).map((name) => element("option", name)));
  $("file").value = files[before] === undefined ? Object.keys(files).find((name) => name.endsWith(".c")) : before;
  $("code").textContent = files[$("file").value];
  $("outputs").replaceChildren();
  $("module").textContent = shipped = "";
  runs = 0;
}

async function samples(name, data) {
  const found = await answered("samples", { name, data });
  $("sampled").textContent = `${found.samples.toLocaleString("en")} samples of ${name}`;
  if ($("dtype").value === "int8") await build();
}

async function run() {
  const index = runs;
  const found = await answered("run", { index });
  runs += 1;
  if (found.inputs) {
    const { outputs, times } = await compiler.ask({ run: found.inputs });
    const { verdict } = await answered("compare", { index, outputs });
    const [least, median, most] = [0, times.length >> 1, times.length - 1].map((i) => times[i].toPrecision(3));
    $("module").textContent = `${shipped}: ${verdict}; ${median} ms a run, from ${least} to ${most} in ${times.length} batches`;
  }
  $("outputs").replaceChildren(element("p", `Outputs for ${found.source}, the largest values first`));
  for (const output of found.outputs) {
    const table = element("table");
    table.append(element("caption", `${output.name} [${output.shape.join(", ")}]`));
    const head = element("tr");
    head.append(element("th", "index"), element("th", "value"));
    table.append(head);
    for (const { index, value } of output.largest) {
      const row = element("tr");
      row.append(element("td", String(index)), element("td", value));
      table.append(row);
    }
    $("outputs").append(table);
  }
}

// Clang, in a worker of its own that starts when it is wanted: 23 MB.
const compiler = {
  ask(message) {
    this.worker ??= new Worker("compiler.js", { type: "module" });
    return new Promise((resolve, reject) => {
      this.worker.onmessage = ({ data }) => (data.failure ? reject(new Error(data.failure)) : resolve(data));
      this.worker.onerror = (event) => reject(new Error(`the compiler could not start: ${event.message}`));
      this.worker.postMessage(message);
    });
  },
};
let shipped = "";

async function compile() {
  const compilation = await answered("sources");
  $("status").textContent = "compiling ...";
  const { size } = await compiler.ask({ compilation });
  shipped = `WebAssembly of ${size.toLocaleString("en")} B`;
  $("module").textContent = shipped;
  await run();
}

async function download() {
  const content = await ask("archive");
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([content], { type: "application/zip" }));
  link.download = "library.zip";
  link.click();
  URL.revokeObjectURL(link.href);
}

const read = (file) => file.arrayBuffer();
const openFiles = (chosen) =>
  step(async () => {
    isDigits = false;
    await open(new Map(await Promise.all(chosen.map(async (file) => [file.name, await read(file)]))));
  });
$("model").onchange = ({ target }) => target.files.length && openFiles([...target.files]);
$("samples").onchange = ({ target }) =>
  target.files.length && step(async () => samples(target.files[0].name, await read(target.files[0])));
async function digits() {
  const [model, data] = await Promise.all(
    ["digits.onnx", "digits.npz"].map(async (name) => await (await fetch(name)).arrayBuffer()),
  );
  isDigits = true;
  await open(new Map([["digits.onnx", model]]));
  await samples("digits.npz", data);
}
$("example").onclick = () => step(digits);
for (const id of ["target", "dtype", "optimize"]) $(id).onchange = () => step(build);
$("options").onsubmit = (event) => event.preventDefault();
$("file").onchange = () => ($("code").textContent = files[$("file").value]);
$("download").onclick = () => step(download);
$("run").onclick = () => step(run);
$("compile").onclick = () => step(compile);

const tabs = [...document.querySelectorAll('[role="tab"]')];
function select(chosen) {
  for (const tab of tabs) {
    tab.setAttribute("aria-selected", String(tab === chosen));
    tab.tabIndex = tab === chosen ? 0 : -1;
    $(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
  }
}
for (const [i, tab] of tabs.entries()) {
  tab.onclick = () => select(tab);
  tab.onkeydown = ({ key }) => {
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[key];
    if (to === undefined) return;
    select(tabs[(to + tabs.length) % tabs.length]);
    tabs[(to + tabs.length) % tabs.length].focus();
  };
}

document.ondragover = (event) => {
  event.preventDefault();
  $("drop").classList.add("over");
};
document.ondragleave = () => $("drop").classList.remove("over");
document.ondrop = (event) => {
  event.preventDefault();
  $("drop").classList.remove("over");
  const dropped = [...event.dataTransfer.files];
  const areSamples = (file) => /\.np[yz]$/i.test(file.name);
  const parts = dropped.filter((file) => !areSamples(file));
  if (parts.length) openFiles(parts);
  for (const file of dropped.filter(areSamples)) step(async () => samples(file.name, await read(file)));
};

step(async () => {
  for (const [name, about] of Object.entries(await answered("targets"))) {
    $("target").append(Object.assign(element("option", name), { value: name, title: about }));
  }
  $("target").value = "cortex-m4";
  $("loading").hidden = true;
  const linked = new URLSearchParams(location.hash.slice(1));
  for (const id of LINKED) {
    const wanted = linked.get(id);
    if ([...$(id).options].some((option) => option.value === wanted)) $(id).value = wanted;
  }
  if (linked.get("model") === "digits") await digits();
});
