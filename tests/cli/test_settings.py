"""edgekit.toml presets options; what it says wrongly is an error, and flags win."""

from pathlib import Path

import pytest
from support.command_line import CommandLine

from edgekit import EdgeKitError, settings
from edgekit import cli as command_line


@pytest.fixture
def preset(folder: Path):
    return Path("edgekit.toml").write_text


def test_settings_are_options(cli: CommandLine, preset) -> None:
    preset('[build]\noptimize = "size"\nverify = false\noutput = "there"\n[convert]\nname = "kws"')
    found = cli.ok("build", "digits.ek", "--json").json
    assert (found["optimize"], found["folder"], found["verification"]) == ("size", "there", None)
    assert cli.ok("convert", "digits.onnx", "--json").json["name"] == "kws"


def test_flags_win(cli: CommandLine, preset) -> None:
    preset('[build]\noptimize = "size"\nverify = false\noutput = "there"')
    found = cli.ok("build", "digits.ek", "--optimize", "speed", "-o", "here", "--json").json
    assert (found["optimize"], found["folder"]) == ("speed", "here")


def test_lists_are_repeated_options(cli: CommandLine, preset, dynamic: Path) -> None:
    preset('[inspect]\nshape = ["x=2,7"]\njson = true')
    assert cli.ok("inspect", dynamic).json["outputs"]["y"]["shape"] == [2, 7]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[build", "E0107 edgekit.toml: "),
        ("[bild]", "bild is no table of settings\nhint: did you mean build?"),
        ('target = "host"', "target is no table of settings"),
        ('[build]\noptimise = "size"', "[build] has no setting optimise\nhint: did you mean optimize?"),
        ('[build]\nmodel = "x.ek"', "[build] has no setting model"),
        ("[build]\nverify = 1", "verify in [build] should be a bool: true or false"),
        ('[build]\nweight_growth = "2"', "weight_growth in [build] should be a number"),
        ("[build]\ntarget = 3", "target in [build] should be a string"),
        ('[build]\nshape = "x=1"', "shape in [build] should be a list of strings"),
        ('[build]\noptimize = "fast"', "E0100 Invalid value for '--optimize'"),
        ('[build]\ntarget = "hots"', "did you mean host?"),
    ],
)
def test_mistakes_are_explained(cli: CommandLine, preset, text: str, words: str) -> None:
    preset(text)
    answer = cli("build", "digits.ek", "-o", "out")
    assert answer.code == 2
    assert words in answer.err
    assert not Path("out").exists()


def test_every_option_of_every_command_can_be_preset() -> None:
    known = {
        c.callback.__name__: command_line._options(c.callback) for c in command_line.app.registered_commands
    }
    assert {name: setting.type for name, setting in known["build"].items() if not setting.today} == {
        "output": str,
        "target": str,
        "optimize": str,
        "weights": str,
        "package": list,
        "helpers": list,
        "classes": str,
        "data": str,
        "entry": list,
        "report": str,
        "all_changes": bool,
        "layer_hook": bool,
        "cores": int,
        "sbom": bool,
        "ports": str,
        "verify": bool,
        "force": bool,
        "shape": list,
        "dim": list,
        "const": list,
        "state": list,
        "wide_weights": bool,
        "weight_growth": float,
        "ram": str,
        "profile": str,
        "signature": str,
        "max_iterations": str,
        "name": str,
        "verbose": bool,
        "json": bool,
    }
    assert all("json" in options for options in known.values())


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("x=1,3,224,224", {"x": (1, 3, 224, 224)}),
        ("a=b:0=2", {"a=b:0": (2,)}),
        ("x=", {"x": ()}),
        ("x= 1, 2", {"x": (1, 2)}),
    ],
)
def test_shapes_are_read(text: str, shape: dict[str, tuple[int, ...]]) -> None:
    assert settings.shapes([text]) == shape


@pytest.mark.parametrize("text", ["", "x", "=1", "x=a", "x=1x3", "x=1,", "x=-1", "x=1.5"])
def test_other_shapes_are_refused(text: str) -> None:
    with pytest.raises(EdgeKitError, match="is no shape"):
        settings.shapes([text])


@pytest.mark.parametrize(
    ("text", "bound"),
    [("sequence=64", {"sequence": 64}), ("a=b=0", {"a=b": 0}), ("n= 3", None), ("n", None), ("=3", None)],
)
def test_dimensions_are_read(text: str, bound: dict[str, int] | None) -> None:
    if bound is not None:
        assert settings.dims([text]) == bound
        return
    with pytest.raises(EdgeKitError, match="--dim"):
        settings.dims([text])


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("sr=16000", {"sr": 16000.0}),
        ("a=b=-1e3", {"a=b": -1000.0}),
        ("on=true", {"on": 1.0}),
        ("x=y", None),
        ("x", None),
    ],
)
def test_constants_are_read(text: str, fixed: dict[str, float] | None) -> None:
    if fixed is not None:
        assert settings.constants([text]) == fixed
        return
    with pytest.raises(EdgeKitError, match="--const"):
        settings.constants([text])
