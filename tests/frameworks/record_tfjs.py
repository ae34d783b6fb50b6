"""Saves nets of TensorFlow.js and what it computes: record_tfjs.py FOLDER, with @tensorflow/tfjs for node.

TensorFlow.js 4.22 wrote what the tests read.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np


def record(folder: Path) -> None:
    subprocess.run(["node", str(Path(__file__).with_name("nets_tfjs.cjs")), str(folder)], check=True)
    for path in folder.rglob("io.json"):
        arrays = {
            name: np.array(one["data"], one["dtype"]).reshape(one["shape"])
            for name, one in json.loads(path.read_text()).items()
        }
        np.savez(path.with_suffix(".npz"), **arrays)
        path.unlink()


if __name__ == "__main__":
    record(Path(sys.argv[1]))
