// EdgeKit in Pyodide without a page: what a session makes of model files. Arguments: the folder of the playground,
// a target, and files; prints the generated C of each, or its error.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";

const bytes = (path) => new Uint8Array(readFileSync(path));
const [folder, target, ...paths] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide/pyodide.mjs`));
const python = await loadPyodide({ indexURL: `${folder}/pyodide/` });
const { unpack, unzipped } = await import(pathToFileURL(`${folder}/packages.js`));
unpack(python, await unzipped(bytes(`${folder}/packages.tar.gz`)), "/packages");
python.globals.set("models", python.toPy(paths.map((path) => [basename(path), bytes(path)])));
python.globals.set("target", target);
const made = python.runPython(`
import json, sys
sys.path.insert(0, "/packages")
from edgekit.playground.session import Session, answer

session = Session()
found = {}
for name, data in models:
    opened = answer(lambda: session.open({name: bytes(data)}))
    built = opened if "error" in opened else answer(lambda: session.build(target, "same", "speed"))
    found[name] = built["error"] if "error" in built else built["files"]
json.dumps(found)
`);
console.log(made);
