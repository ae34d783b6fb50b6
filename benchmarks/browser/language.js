// Writes a text by the decoder that the bundle was made with: notes when its first token was there, and how long the
// prompt and each later token take. THREADS and PROMPT are written into the bundle.
import { load } from "engine";

const write = await load({ model: String(new URL("model", location.href)), threads: THREADS, ...PROMPT });
[globalThis.first] = await write(1); // since the navigation began

/** Milliseconds of the prompt, and of a token behind it. */
globalThis.turn = async () => {
  const start = performance.now();
  const times = await write(TOKENS + 1);
  if (times.length !== TOKENS + 1) throw new Error(`${times.length} tokens were written`);
  return [times[0] - start, (times[TOKENS] - times[0]) / TOKENS];
};
