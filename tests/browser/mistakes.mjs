// Makes every mistake that a caller can make, and prints the errors.
import { pathToFileURL } from "node:url";

const { createModel } = await import(pathToFileURL(process.argv[2]));
const model = await createModel();
const disposed = await createModel();
disposed.dispose();
const html = new Response("<!doctype html>", { headers: { "Content-Type": "text/html" } });
const other = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);

const mistakes = {
  "a list": () => model.run([1, 2, 3]),
  null: () => model.run(null),
  "another type": () => model.run(new Float32Array(64)),
  "another length": () => model.run(new Int8Array(63)),
  "run after dispose": () => disposed.run(),
  "input after dispose": () => disposed.input,
  "no server": () => createModel({ wasm: new URL("http://127.0.0.1:1/") }),
  "no file": () => createModel({ wasm: new URL("./no.wasm", import.meta.url) }),
  "status 404": () => createModel({ wasm: new Response("", { status: 404, statusText: "Gone fishing" }) }),
  "a page": () => createModel({ wasm: html }),
  "no bytes": () => createModel({ wasm: new ArrayBuffer(0) }),
  "a number": () => createModel({ wasm: 5 }),
  "another module": () => createModel({ wasm: other }),
};

const answers = {};
for (const [name, mistake] of Object.entries(mistakes)) {
  try {
    await mistake();
    answers[name] = "nothing happened";
  } catch (error) {
    answers[name] = String(error);
  }
}
console.log(JSON.stringify(answers));
