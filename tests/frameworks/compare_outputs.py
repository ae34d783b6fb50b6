"""Says whether recorded models compute here what they did elsewhere: compare_outputs.py FOLDER ..."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.recorded import Recorded, recorded  # the path comes first


def report(model: Recorded) -> str:
    return f"{model.name}: {model.format}, {model.compare():.1e} of the largest output"


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        for model in recorded(Path(folder)):
            print(report(model), flush=True)
