// Go on with a text: a worker draws tokens, and the page shows each piece as it comes.
import { createModelInWorker } from "./build/npm/manual.worker.js";

const at = (id) => document.getElementById(id);
let stopped = false;

async function write(model) {
  const text = at("text").value;
  at("written").textContent = text;
  stopped = false;
  let pieces = 0;
  const start = performance.now();
  const sampling = { tokens: Number(at("tokens").value), temperature: Number(at("temperature").value), topP: 0.95 };
  for await (const piece of model.generate(text, { ...sampling, seed: Date.now() })) {
    at("written").textContent += piece;
    pieces++;
    if (stopped) break;
  }
  const seconds = (performance.now() - start) / 1000;
  at("answer").textContent = `${pieces} pieces, ${Math.round(pieces / seconds)} a second`;
}

try {
  const model = await createModelInWorker();
  at("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    at("go").disabled = true;
    at("stop").disabled = false;
    await write(model).catch((error) => (at("answer").textContent = error.message));
    at("go").disabled = false;
    at("stop").disabled = true;
  });
  at("stop").addEventListener("click", () => (stopped = true));
  at("go").disabled = false;
  at("answer").textContent = "Write the beginning of a text.";
} catch (error) {
  at("answer").textContent = error.message;
}
