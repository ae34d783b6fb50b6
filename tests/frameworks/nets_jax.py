"""Small functions for JAX to export: loops, branches, and elements by index."""

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

WEIGHTS = np.random.default_rng(0).standard_normal((5, 5)).astype(np.float32)
ROWS = np.array([0, 1, 2])


def counted(x: Array) -> Array:
    return lax.fori_loop(0, 3, lambda i, c: c * 2 + i, x)


def scanned(x: Array) -> tuple[Array, Array]:
    """A recurrent layer over the second dimension, from its end."""

    def step(h: Array, row: Array) -> tuple[Array, Array]:
        return jnp.tanh(h @ WEIGHTS + row), h

    return lax.scan(step, jnp.zeros((5,)), x[0], reverse=True)


def branched(x: Array) -> tuple[Array, ...]:
    """By numbers that are known, and by those that are not."""
    parts = [lambda x: x + 1, lambda x: x * 2, lambda x: x - 3]
    number = jnp.int32(x[0, 0, 0] * 0)
    known = lax.switch(1, parts, x)
    first, above = lax.switch(number, parts, x), lax.switch(number + 7, parts, x)
    return known, first, above, lax.cond(x.sum() > 0, parts[0], parts[1], x)


def extremes(x: Array) -> tuple[Array, ...]:
    return jnp.argmax(x, axis=1), jnp.argmin(x, axis=0), jnp.max(x) * jnp.argmax(x)


def gathered(x: Array) -> tuple[Array, ...]:
    """By constant places, in one and in several dimensions."""
    return (
        x[:, np.array([[0, 3], [1, 1]])],
        x[ROWS, :, np.array([4, 2, 0])],
        x[np.array([0, 1]), np.array([1, 3])],
        jax.vmap(lambda i: lax.dynamic_slice(x, (i, i, 0), (2, 2, 5)))(jnp.arange(4)),
    )


def found(x: Array) -> tuple[Array, ...]:
    """By places that depend on x."""
    best = jnp.argmax(x, axis=1, keepdims=True)
    return x[jnp.argmax(x[:, 0, 0])], jnp.take_along_axis(x, best, axis=1), x[jnp.argmax(x[0, 0]) % 3, 1:3]


def replaced(x: Array) -> tuple[Array, ...]:
    """Boxes within, and one that reaches over the end."""
    inner = lax.dynamic_update_slice(x, jnp.ones((1, 2, 3)), (1, 1, 1))
    return inner, lax.dynamic_update_slice(x, jnp.ones((2, 4, 2)), (9, 0, 9))


NETS: Mapping[str, Callable[[Array], object]] = {
    f.__name__: f for f in (counted, scanned, branched, extremes, gathered, found, replaced)
}
