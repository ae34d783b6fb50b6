"""Kernels as GLSL: all of them become valid SPIR-V."""

import subprocess
from pathlib import Path

from support.gpu_cases import every_kernel
from support.tools import require

from edgekit.codegen.gpu.glsl import shader


def test_shaders_are_valid(tmp_path: Path) -> None:
    compiler, validator = require("glslc"), require("spirv-val")
    kernels = every_kernel()
    for name, kernel in kernels.items():
        (tmp_path / f"{name}.comp").write_text(shader(kernel))
    sources = [f"{name}.comp" for name in kernels]
    command = [compiler, "--target-env=vulkan1.1", "-Werror", "-c", *sources]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    for name in kernels:
        check = [validator, "--target-env", "vulkan1.1", f"{name}.comp.spv"]
        subprocess.run(check, cwd=tmp_path, check=True)
