// Play a recorded word, and see which one a network in a worker hears.
import { inputs, outputs } from "./build/npm/keywords.js";
import { createModelInWorker } from "./build/npm/keywords.worker.js";
import { features, samplesOf } from "./features.js";

const WORDS = ["yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go", "other"];
const RECORDED = ["yes", "stop", "left"];
const PER_UNIT = 32; // the network sees feature / 32
const answer = document.getElementById("answer");

const rows = WORDS.map((word) => {
  const row = document.getElementById("scores").insertRow();
  row.insertCell().textContent = word;
  row.insertCell().append(document.createElement("meter"));
  return row;
});

/** What the network makes of a recording: a score for each word. */
async function listen(model, recording) {
  const { scale, zero } = inputs.x;
  const quantized = (feature) => Math.min(127, Math.max(-128, Math.round(feature / PER_UNIT / scale) + zero));
  return model.run(features(samplesOf(recording)).map(quantized));
}

async function hear(model, word) {
  const response = await fetch(`${word}.wav`);
  if (!response.ok) throw new Error(`no recording of ${word}: ${response.status}`);
  const recording = await response.arrayBuffer();
  new Audio(URL.createObjectURL(new Blob([recording], { type: "audio/wav" }))).play().catch(() => {}); // or be silent
  const scores = await listen(model, recording);
  const best = scores.indexOf(Math.max(...scores));
  const { scale, zero } = outputs.y;
  for (const [i, row] of rows.entries()) {
    row.className = i === best ? "best" : "";
    row.querySelector("meter").value = scale * (scores[i] - zero);
  }
  answer.textContent = `I heard: ${WORDS[best]}`;
}

try {
  const model = await createModelInWorker();
  for (const word of RECORDED) {
    const button = document.createElement("button");
    button.textContent = `Say “${word}”`;
    button.onclick = () => hear(model, word).catch((error) => (answer.textContent = error.message));
    document.getElementById("words").append(button, " ");
  }
  answer.textContent = "Press a button.";
} catch (error) {
  answer.textContent = error.message;
}
