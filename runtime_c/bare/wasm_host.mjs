/* Runs a program in WebAssembly (see wasm.c): in Node, `node wasm_host.mjs program.wasm arguments...` with standard
 * input and output; in a page, `runProgram`. */

export async function runProgram(bytes, words, input) {
    const written = [];
    let memory;
    let at = 0;
    const view = (from, size) => new Uint8Array(memory.buffer, from, size);
    const host = {
        argument(index, to, room) {
            if (index >= words.length) return -1;
            const word = new TextEncoder().encode(words[index]).subarray(0, room);
            view(to, word.length).set(word);
            return word.length;
        },
        read(to, size) {
            const part = input.subarray(at, at + size);
            view(to, part.length).set(part);
            at += part.length;
            return part.length;
        },
        write(from, size) {
            written.push(view(from, size).slice());
        },
        microseconds: () => performance.now() * 1000,
    };
    let code = 134; // as a program ends that is stopped
    let message = "";
    try {
        const { instance } = await WebAssembly.instantiate(bytes, { host });
        memory = instance.exports.memory;
        code = instance.exports.start();
    } catch (error) {
        message = String(error);
    }
    return { code, message, output: new Uint8Array(await new Blob(written).arrayBuffer()) };
}

if (typeof process === "object" && process.argv?.[2]) {
    const { readFileSync, writeSync } = await import("node:fs");
    const { setFlagsFromString } = await import("node:v8");
    const [program, ...words] = process.argv.slice(2);
    const bytes = readFileSync(program);
    // Node 20 has relaxed vectors behind a flag, which later ones do not know.
    if (!WebAssembly.validate(bytes)) setFlagsFromString("--experimental-wasm-relaxed-simd");
    const { code, message, output } = await runProgram(bytes, words, readFileSync(0));
    for (let from = 0; from < output.length; ) from += writeSync(1, output, from);
    if (message) console.error(message);
    process.exitCode = code;
}
