"""Reference networks take as many bytes as tests/sizes.toml says: a change that raises one must edit it."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support import sizes
from support.sizes import COMPILED, PLANNED, TARGETS, Place, Row
from support.tools import ROOT, missing

COMPILERS, ROWS = sizes.read()
PLACES = tuple(sizes.places())
WHERE: Place = ("cortex-m4", "speed", "digits")


def of(place: Place, kinds: Sequence[str]) -> Row:
    """What the file says of these kinds."""
    return {what: size for what, size in ROWS.get(place, {}).items() if what in kinds}


@pytest.mark.parametrize("place", PLACES, ids="-".join)
def test_the_plan_takes_what_the_file_says(place: Place) -> None:
    sizes.need(place[2])
    lines = sizes.changes(place, of(place, PLANNED), sizes.planned(place))
    assert not lines, sizes.advice(lines)


@pytest.mark.parametrize("place", PLACES, ids="-".join)
def test_the_library_takes_what_the_file_says(place: Place) -> None:
    name, _, network = place
    sizes.need(network)
    here, measured = sizes.compiler(name), COMPILERS[name]
    if not here:
        missing(f"the compiler of {name}", measured)
    if here != measured:
        pytest.skip(f"sizes of {name} were measured with {measured}, here is {here}")
    lines = sizes.changes(place, of(place, COMPILED), sizes.compiled(place))
    assert not lines, sizes.advice(lines)


def test_the_file_has_what_is_measured_and_nothing_else() -> None:
    assert list(ROWS) == list(PLACES)
    assert list(COMPILERS) == list(TARGETS)
    for place, row in ROWS.items():
        assert set(row) == {*PLANNED, *COMPILED}, place


def test_the_file_is_as_the_script_writes_it() -> None:
    assert sizes.FILE.read_text(encoding="utf-8") == sizes.text(COMPILERS, ROWS)


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ({"arena": 1100, "code": 50}, "arena rose from 1,000 to 1,100 bytes (+100, +10.0 %)"),
        ({"arena": 999, "code": 50}, "arena fell from 1,000 to 999 bytes (-1, -0.1 %)"),
        ({"arena": 1000}, "code is in the file, and not measured"),
        ({"arena": 1000, "code": 50, "stack": 8}, "stack is not in the file"),
    ],
)
def test_a_rise_and_a_fall_are_told_with_their_bytes(new: Row, said: str) -> None:
    lines = sizes.changes(WHERE, {"arena": 1000, "code": 50}, new)
    assert lines == [f"digits on cortex-m4 for speed: {said}"]
    assert sizes.COMMAND in sizes.advice(lines)


def test_equal_bytes_are_no_change_and_a_new_network_is_one() -> None:
    assert sizes.changes(WHERE, {"arena": 8}, {"arena": 8}) == []
    assert sizes.advice([]) == ""
    assert sizes.changes(WHERE, {}, {"arena": 8}) == ["digits on cortex-m4 for speed is not in the file"]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "sizes.toml"
    rows = {WHERE: {"arena": 8, "code": 2}, ("host", "size", "digits"): {"arena": 4}}
    path.write_text(sizes.text({"host": "cc 1"}, rows), encoding="utf-8")
    assert sizes.read(path) == ({"host": "cc 1"}, rows)


def test_the_command_is_there() -> None:
    program, script = sizes.COMMAND.split()
    assert program == "python"
    done = subprocess.run([sys.executable, ROOT / script, "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "sizes.toml" in done.stdout
