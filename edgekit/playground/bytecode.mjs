// Compiles the Python of the page by the Python of the page, in Node. Argument: the folder of the playground.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide/pyodide.mjs`));
// Without columns in tracebacks, which are a quarter of the bytes.
const env = { HOME: "/home/pyodide", PYTHONNODEBUGRANGES: "1" };
const python = await loadPyodide({ indexURL: `${folder}/pyodide/`, env });
python.mountNodeFS("/page", folder);
python.runPython(readFileSync(new URL("./bytecode.py", import.meta.url), "utf8"));
