// Python in a worker, so that the page answers while EdgeKit works. Messages: {id, call, args} -> {id, answer | failure},
// and {progress} for each step between.
import { unpack, unzipped } from "./packages.js";
import { loadPyodide } from "./pyodide/pyodide.mjs";

const progress = (step, share) => postMessage({ progress: step, share });

const bytes = async (name) => {
  const found = await fetch(name);
  if (!found.ok) throw new Error(`${name}: ${found.status} ${found.statusText}`);
  return await found.arrayBuffer();
};

async function start() {
  progress("loading Python", 0.02); // shares of the time that it all takes
  const archive = bytes("packages.tar.gz").then(unzipped);
  const python = await loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href });
  progress("loading EdgeKit", 0.45);
  unpack(python, await archive, "/packages");
  progress("starting EdgeKit", 0.65);
  python.globals.set("progress", (step) => progress(step));
  python.runPython(`
import json, sys
sys.path.insert(0, "/packages")
from edgekit.playground.session import Session, answer
session = Session(progress)
`);
  progress("listing targets", 0.9);
  return python;
}

// Every call answers JSON; bytes arrive as buffers.
const CALLS = {
  targets: "answer(session.targets)",
  open: "answer(lambda: session.open({name: bytes(data) for name, data in files.items()}, bindings))",
  samples: "answer(lambda: session.take_samples(name, data.to_bytes()))",
  build: "answer(lambda: session.build(target, dtype, optimize))",
  run: "answer(lambda: session.run(index))",
  sources: "answer(session.sources)",
  compare: "answer(lambda: session.compare(index, outputs.to_py()))",
};

const started = start();

onmessage = async ({ data: { id, call, args } }) => {
  try {
    const python = await started;
    const names = python.globals.get("dict")();
    for (const name of ["session", "answer", "json"]) names.set(name, python.globals.get(name));
    for (const [name, value] of Object.entries(args)) names.set(name, name === "files" ? python.toPy(value) : value);
    if (call === "archive") {
      const found = python.runPython("session.archive()", { globals: names });
      postMessage({ id, answer: found.toJs() });
      return;
    }
    postMessage({ id, answer: JSON.parse(python.runPython(`json.dumps(${CALLS[call]})`, { globals: names })) });
  } catch (error) {
    postMessage({ id, failure: String(error.message ?? error) });
  }
};
