"""Exports the shared net with TensorFlow.js: export_tfjs.py FOLDER, with @tensorflow/tfjs for node."""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from net import EPSILON, weights  # the path comes first


def export(folder: Path) -> None:
    """As a layers model; the full layer was trained on C H W."""
    folder.mkdir(parents=True, exist_ok=True)
    given = weights()
    given["conv/W"] = given["conv/W"].transpose(2, 3, 1, 0)
    given["fc/W"] = given["fc/W"].reshape(10, 8, 8, 8).transpose(2, 3, 1, 0).reshape(512, 10)
    order = ("conv/W", "conv/b", "bn/gamma", "bn/beta", "bn/avg_mean", "bn/avg_var", "fc/W", "fc/b")
    text = json.dumps({"epsilon": EPSILON, "weights": [given[name].tolist() for name in order]})
    script = Path(__file__).with_name("export_tfjs.cjs")
    subprocess.run(["node", str(script), str(folder)], input=text, text=True, check=True)


if __name__ == "__main__":
    export(Path(sys.argv[1]))
