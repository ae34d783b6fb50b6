// Loads a model by the engine that the bundle was made with, and runs it when it is told to.
import { load } from "engine";

const run = await load(new URL("model", location.href));
await run();
globalThis.first = performance.now(); // since the navigation began

/** Milliseconds of a run, over as many as fill this time. */
globalThis.turn = async (milliseconds) => {
  for (let runs = 1; ; runs *= 2) {
    const start = performance.now();
    for (let i = 0; i < runs; i++) {
      const pending = run();
      if (pending) await pending; // only of engines that make us wait
    }
    const spent = performance.now() - start;
    if (spent >= milliseconds) return spent / runs;
  }
};
