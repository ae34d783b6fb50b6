"""Exports the functions of nets_jax.py with the installed JAX, and what it computes: record_jax.py FOLDER."""

import sys
from pathlib import Path

import jax
import numpy as np
from jax import export

sys.path.insert(0, str(Path(__file__).resolve().parent))

from nets_jax import NETS  # the path comes first


def record(folder: Path, name: str) -> None:
    """The text, and its input and outputs in io.npz."""
    function = jax.jit(NETS[name])
    x = np.random.default_rng(1).standard_normal((3, 4, 5)).astype(np.float32)
    (folder / name).mkdir(parents=True, exist_ok=True)
    text = export.export(function)(jax.ShapeDtypeStruct(x.shape, x.dtype)).mlir_module()
    text = text.replace(f"{Path(__file__).resolve().parent}/", "")  # its locations: where this checkout lies
    (folder / name / "net.mlir").write_text(text, encoding="utf-8")
    ys = {f"y{i}": np.asarray(y) for i, y in enumerate(jax.tree.leaves(function(x)))}
    np.savez(folder / name / "io.npz", x0=x, **ys)


if __name__ == "__main__":
    for chosen in NETS:
        record(Path(sys.argv[1]), chosen)
