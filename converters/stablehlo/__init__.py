"""StableHLO text, as JAX exports it."""

FORMAT = "JAX StableHLO"
SUFFIXES = (".mlir",)
