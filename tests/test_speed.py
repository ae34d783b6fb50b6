"""Layers of the reference networks take the instructions of tests/speed.toml: a rise needs a reason."""

import subprocess
import sys
from pathlib import Path

import pytest
from support import sizes, speed
from support.speed import TOTAL, Place, Row, Version
from support.tools import ROOT, missing, require

FILE = speed.read()
PLACES = tuple(speed.places())
WHERE: Place = ("cortex-m4", "digits")


@pytest.mark.parametrize("place", PLACES, ids="-".join)
def test_layers_take_what_the_file_says(place: Place) -> None:
    name, network = place
    sizes.need(network)
    if reason := speed.why_not(name):
        missing(reason, "an emulator")
    here, then = sizes.compiler(name), FILE.compilers[name]
    if not here:
        missing(f"the compiler of {name}", then)
    if here != then:
        pytest.skip(f"instructions on {name} were counted with {then}, here is {here}")
    lines = speed.changes(place, FILE.rows[place], speed.measured(place))
    assert not lines, "\n".join([*lines, f"`{speed.COMMAND}` writes tests/speed.toml."])


def test_a_count_that_rose_has_a_reason() -> None:
    require("git")
    if not (ROOT / ".git").exists():
        missing("the history of this checkout", "a clone")
    lines = speed.rises(speed.history())
    assert not lines, speed.advice(lines)


def test_the_file_has_what_is_counted_and_is_as_the_script_writes_it() -> None:
    assert list(FILE.rows) == list(PLACES)
    assert list(FILE.compilers) == list(speed.TARGETS)
    assert speed.FILE.read_text(encoding="utf-8") == speed.text(FILE)
    for rows in FILE.rows.values():
        layers = [row.instructions for layer, row in rows.items() if layer != TOTAL]
        assert rows[TOTAL].instructions == sum(layers)


def version(instructions: int, reason: str = "", compiler: str = "cc 1") -> Version:
    return Version({"cortex-m4": compiler}, {WHERE: {"conv": Row(instructions, "ek_conv", reason)}})


@pytest.mark.parametrize(
    ("versions", "rose"),
    [
        ([version(1000), version(1010)], ""),
        ([version(1000), version(1011)], "from 1,000 to 1,011 (+1.1 %)"),
        ([version(1000), version(1011, "border of odd images")], ""),
        ([version(1000), version(1011, "odd images"), version(1021)], ""),
        ([version(1000), version(1011, "odd images"), version(1022, "odd images")], ""),
        ([version(1000), version(1011, "odd images"), version(1050)], "from 1,011 to 1,050 (+3.9 %)"),
        # Small steps add up, and a rise stays one whatever comes behind it.
        ([version(1000), version(1008), version(1016)], "from 1,000 to 1,016 (+1.6 %)"),
        ([version(1000), version(1020), version(1020)], "from 1,000 to 1,020 (+2.0 %)"),
        ([version(1000), version(1020), version(900), version(905)], ""),
        ([version(1000), version(1500, compiler="cc 2")], ""),
        ([version(1000)], ""),
        ([], ""),
    ],
)
def test_a_rise_of_more_than_one_percent_fails_without_a_new_reason(
    versions: list[Version], rose: str
) -> None:
    lines = speed.rises(versions)
    assert lines == ([f"digits on cortex-m4, layer conv: instructions rose {rose}"] if rose else [])
    assert ("reason" in speed.advice(lines)) == bool(lines)


def test_writing_the_file_again_keeps_reasons_only_of_what_did_not_change() -> None:
    old = {"a": Row(5, "k", "why"), "b": Row(6, "k", "why"), "c": Row(7, "k", "why")}
    new = {"a": Row(5, "k"), "b": Row(7, "k"), "c": Row(7, "other"), "d": Row(1)}
    kept = speed.carried(old, new)
    assert {layer: row.reason for layer, row in kept.items()} == {"a": "why", "b": "", "c": "", "d": ""}


def test_changes_are_told_with_network_layer_and_figure() -> None:
    old = {TOTAL: Row(30), "a": Row(10, "k"), "b": Row(20, "k"), "gone": Row(1)}
    new = {TOTAL: Row(33), "a": Row(13, "k"), "b": Row(20, "other"), "new": Row(1)}
    assert speed.changes(WHERE, old, new) == [
        "digits on cortex-m4: instructions rose from 30 to 33 (+10.0 %)",
        "digits on cortex-m4, layer a: instructions rose from 10 to 13 (+30.0 %)",
        "digits on cortex-m4, layer b: is computed by other, no longer by k",
        "digits on cortex-m4, layer gone: is in the file, and not in the network",
        "digits on cortex-m4, layer new: is not in the file",
    ]


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path, written = tmp_path / "speed.toml", version(8, 'the "worst" case')
    path.write_text(speed.text(written), encoding="utf-8")
    assert speed.read(path) == written


def test_the_command_is_there() -> None:
    program, script = speed.COMMAND.split()
    assert program == "python"
    done = subprocess.run([sys.executable, ROOT / script, "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "speed.toml" in done.stdout


def test_changes_of_costs_are_a_table_by_network() -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    import cost_changes

    place = ("cortex-m4", "speed", "digits")
    old = {place: {"code": 100, "instructions": 1000}, ("host", "speed", "gone"): {"code": 1}}
    new = {place: {"code": 100, "instructions": 1100}, ("host", "size", "new"): {"code": 2}}
    lines = cost_changes.report(old, new).splitlines()
    assert lines[0] == cost_changes.MARK
    assert [line for line in lines if line.startswith("| ")][1:] == [
        "| cortex-m4 | speed | digits | instructions | 1,000 | 1,100 | +10.00% |",
        "| host | speed | gone | code | 1 | - | gone |",
        "| host | size | new | code | - | 2 | new |",
    ]
    assert "Instructions, geometric mean over the networks: cortex-m4 +10.00%." in lines
    assert "No byte and no instruction changed." in cost_changes.report(old, old)
