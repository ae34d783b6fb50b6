"""Scripts that write docs/reliability.md: each measures one promise, and can be run again by anyone."""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):  # read once by numpy; processes share the cores
    os.environ.setdefault(name, "1")
