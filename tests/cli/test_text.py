"""The examples of docs/text.md give what the page shows."""

import re
from pathlib import Path

import pytest
from support import tiny_tokenizer
from support.tools import ROOT

PAGE = (ROOT / "docs" / "text.md").read_text(encoding="utf-8")


def test_a_folder_s_tokenizer_in_python(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "tiny-llama").mkdir()
    tiny_tokenizer.write(folder / "tiny-llama")
    (shown,) = re.findall(r"^```python\n(.*?)^```\n\n```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    code, expected = shown
    exec(compile(code, "docs/text.md", "exec"), {})
    assert capsys.readouterr().out == expected
