"""EdgeKit's code for AVX2 against LiteRT, ONNX Runtime, ncnn and MNN where these have AVX2, too: see x86.py.

The peers look at the processor and cannot be told, so this needs one without AVX-512.
"""

from __future__ import annotations

import sys

from benchmarks.x86 import View, main
from edgekit.codegen.execution.runner import is_native
from edgekit.core.target import load

if __name__ == "__main__":
    if is_native(load("x86-64-avx512")):
        sys.exit("this processor has AVX-512, which the peers would use: take one with AVX2 alone")
    main(
        View(
            "x86_avx2",
            "x86-64 limited to AVX2",
            ("x86-64-avx2",),
            "This processor has no\nAVX-512: all use AVX2.",
        )
    )
