"""The example of a language model: its training, and its program in C, which writes what Python writes."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.examples import EXAMPLES
from support.generated import C99, STRICT, compiled
from support.tools import require_module

import edgekit

MODEL = EXAMPLES / "manual" / "model"


def test_the_program_in_c_writes_what_python_writes(tmp_path: Path) -> None:
    graph = edgekit.convert(MODEL, name="manual")
    edgekit.build(graph, tmp_path / "out", verify=False)
    sources = [path.name for path in sorted((tmp_path / "out").glob("*.c"))]
    program = (EXAMPLES / "manual" / "main.c").read_text()
    (tmp_path / "out" / "main.c").write_text(program)
    compiled(tmp_path / "out", "cc", *C99, *STRICT, "-O1", "-o", "manual", "main.c", *sources, "-lm")
    text = "If an exception is raised"
    command = [tmp_path / "out" / "manual", text, "5"]
    written = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    pieces = edgekit.generate(graph, text, tokens=256, temperature=0.7, top_p=0.9, seed=5)
    assert written == text + "".join(pieces) + "\n"


def test_the_model_has_learned_words() -> None:
    """Of what it writes, most words are those of the text that it was trained on."""
    topics = require_module("pydoc_data.topics").topics
    known = set(re.findall(r"[a-z]+", " ".join(topics.values()).lower()))
    graph = edgekit.convert(MODEL)
    written = "".join(edgekit.generate(graph, "The", tokens=120, temperature=0.7, seed=1)).lower()
    words = re.findall(r"[a-z]+", written)
    assert len(words) > 20
    assert np.mean([word in known for word in words]) > 0.7


@pytest.mark.usefixtures("torch_settings")
def test_training_learns() -> None:
    require_module("torch")
    require_module("tokenizers")
    from examples import common
    from examples.manual import train

    common.seed_everything(1)
    ids = np.array(train.tokenizer().encode(train.texts()[0]).ids)
    losses = train.train(train.Decoder(), ids, 12, batch=2, length=32)
    assert np.mean(losses[-3:]) < np.mean(losses[:3]) - 0.3
