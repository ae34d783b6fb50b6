// Runs the model of a package on samples, a list of inputs each, from standard input, and prints the outputs.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { createModel } = await import(pathToFileURL(process.argv[2]));
const model = await createModel();
const listed = (view) => Array.from(view, (value) => (typeof value === "bigint" ? Number(value) : value));
const answers = JSON.parse(readFileSync(0, "utf8")).map((sample) => {
  for (const [i, view] of Object.values(model.inputs).entries())
    view.set(typeof view[0] === "bigint" ? sample[i].map(BigInt) : sample[i]);
  model.run();
  return Object.values(model.outputs).map(listed);
});
console.log(JSON.stringify(answers));
