// The archive of what Python imports in the page: a tar file that gzip compressed.

const BLOCK = 512;

// Its bytes, whatever the server does.
export async function unzipped(compressed) {
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Writes its files to a folder of Pyodide, which Python itself would take a second for.
export function unpack(python, archive, folder) {
  const field = (at, size) => new TextDecoder().decode(archive.subarray(at, at + size)).split("\0")[0];
  const folders = new Set();
  for (let at = 0; archive[at]; ) {
    const [name, size, prefix] = [field(at, 100), parseInt(field(at + 124, 12), 8), field(at + 345, 155)];
    const path = [folder, prefix, name].filter(Boolean).join("/");
    const parent = path.slice(0, path.lastIndexOf("/"));
    if (!folders.has(parent)) python.FS.mkdirTree(parent);
    folders.add(parent);
    python.FS.writeFile(path, archive.subarray(at + BLOCK, at + BLOCK + size));
    at += BLOCK * (1 + Math.ceil(size / BLOCK));
  }
}
