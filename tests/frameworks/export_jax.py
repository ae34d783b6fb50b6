"""Exports the shared net with the installed JAX: export_jax.py FOLDER."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax import export as jax_export

sys.path.insert(0, str(Path(__file__).resolve().parent))

from net import EPSILON, weights  # the path comes first

GIVEN = {name: jnp.asarray(array) for name, array in weights().items()}


def net(x: Array) -> Array:
    """As people write it for images of N H W C; the full layer was trained on C H W."""
    kernel = GIVEN["conv/W"].transpose(2, 3, 1, 0)
    full = GIVEN["fc/W"].reshape(10, 8, 8, 8).transpose(2, 3, 1, 0).reshape(512, 10)
    y = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    y = y + GIVEN["conv/b"] - GIVEN["bn/avg_mean"]
    y = y * (GIVEN["bn/gamma"] * lax.rsqrt(GIVEN["bn/avg_var"] + EPSILON)) + GIVEN["bn/beta"]
    y = lax.reduce_window(jax.nn.relu(y), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return y.reshape(y.shape[0], -1) @ full + GIVEN["fc/b"]


def export(folder: Path) -> None:
    """As it is, and with a batch of any size."""
    folder.mkdir(parents=True, exist_ok=True)
    (batch,) = jax_export.symbolic_shape("batch")
    for name, size in (("net", 1), ("net_dyn", batch)):
        shape = jax.ShapeDtypeStruct((size, 16, 16, 3), jnp.float32)
        text = jax_export.export(jax.jit(net))(shape).mlir_module()
        (folder / f"{name}.mlir").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    export(Path(sys.argv[1]))
