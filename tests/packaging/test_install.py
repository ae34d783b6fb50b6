"""A wheel, an sdist and an editable checkout each give a working installation in a clean environment.

Only EdgeKit is installed: a folder of links lends the dependencies of the running environment, without
EdgeKit itself, so that nothing is downloaded and nothing of the checkout is in reach.
"""

import json
import subprocess
import sys
import sysconfig
import tomllib
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest
from support.packages import built, built_elsewhere, copied, python
from support.tools import ROOT, require_module

SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]

# Runs inside an installation: the origin of each package, and the files that importlib.resources finds there.
LOOK = """
import importlib, importlib.resources, json, sys

def files(folder, prefix=""):
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from files(entry, prefix + entry.name + "/")
        elif not entry.name.endswith(".pyc"):
            yield prefix + entry.name

json.dump({name: [importlib.import_module(name).__file__, sorted(files(importlib.resources.files(name)))]
           for name in sys.argv[1:]}, sys.stdout)
"""
# The command with what compilers made before: tests/support is the only thing of the checkout that it sees.
KEPT = """
import sys
sys.path.append(sys.argv.pop(1))
from support import object_cache
from edgekit.cli import main
object_cache.install()
main()
"""


@dataclass(frozen=True)
class Installation:
    bin: Path
    origin: Path  # the modules lie below this folder

    def run(self, *command: str) -> str:
        program = [str(self.bin / command[0]), *command[1:]]
        done = subprocess.run(program, cwd=self.bin, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what git would give, because building leaves files behind."""
    folder = tmp_path_factory.mktemp("source")
    return copied(folder)


@pytest.fixture(scope="module")
def archives(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    require_module("build")
    folder = tmp_path_factory.mktemp("archives")
    built(source, folder)
    return folder


@pytest.fixture(scope="module")
def dependencies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dependencies")
    for site in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for entry in Path(site).iterdir():
            if "edgekit" not in entry.name and entry.suffix != ".pth":
                (folder / entry.name).symlink_to(entry)
    return folder


@pytest.fixture(scope="module", params=["wheel", "sdist", "editable"])
def installation(
    request: pytest.FixtureRequest,
    source: Path,
    archives: Path,
    dependencies: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Installation:
    folder = tmp_path_factory.mktemp(request.param)
    python("-m", "venv", "--without-pip", str(folder))
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(f"{dependencies}\n")
    what = {
        "wheel": [str(path) for path in archives.glob("*.whl")],
        "sdist": [str(path) for path in archives.glob("*.tar.gz")],
        "editable": ["--editable", str(source)],
    }[request.param]
    inside = str(folder / "bin" / "python")
    offline = ("--no-index", "--no-deps", "--no-build-isolation", "--no-compile")
    python("-m", "pip", "--python", inside, "install", *offline, *what)
    return Installation(folder / "bin", source if request.param == "editable" else site)


def test_archives_are_reproducible(archives: Path, tmp_path: Path) -> None:
    """The same bytes from another folder, at another time, for a user whose files others may not read."""
    built_elsewhere(tmp_path / "elsewhere", tmp_path / "archives")
    first, second = (
        {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
        for folder in (archives, tmp_path / "archives")
    )
    assert len(first) == 2
    assert first == second


def test_command_answers(installation: Installation) -> None:
    assert "Usage: edgekit" in installation.run("edgekit", "--help")


@pytest.mark.parametrize("installation", ["wheel"], indirect=True)  # the others have the same files
def test_demo_works(installation: Installation) -> None:
    found = json.loads(installation.run("python", "-c", KEPT, str(ROOT / "tests"), "demo", "--json"))
    assert found["correct"] > 0.99 * found["images"]


def test_each_stage_imports_and_finds_its_files(installation: Installation) -> None:
    seen = json.loads(installation.run("python", "-I", "-c", LOOK, *sorted(packages())))
    for package, (origin, files) in seen.items():
        assert Path(origin).is_relative_to(installation.origin), f"{package} comes from {origin}"
        assert files_of(package) <= set(files), f"{package}: is package-data in pyproject.toml complete?"


def test_a_clone_without_links_works(tmp_path: Path) -> None:
    """In it, git writes files in place of the folders of the stages."""
    source = copied(tmp_path / "source", links=False)
    assert (source / "edgekit" / "codegen").read_text() == "../codegen"
    use = (
        f"import sys; sys.path.insert(0, {str(source)!r})\n"
        "sys.meta_path = [one for one in sys.meta_path if 'editable' not in str(one).lower()]\n"
        "from edgekit import codegen, explanations\n"
        "from edgekit.core.distribution import data_file\n"
        "from edgekit.converters import read\n"
        "print(codegen.__file__, len(explanations.sections()), read.read(data_file('digits.onnx')).name)"
    )
    done = subprocess.run([sys.executable, "-c", use], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    origin, sections, name = done.stdout.split()
    assert Path(origin).is_relative_to(source)
    assert int(sections) > 30
    assert name == "digits"


def test_expectations_are_not_empty() -> None:
    assert "host.toml" in files_of("edgekit.targets")
    assert any(name.endswith(".j2") for name in files_of("edgekit.codegen"))
    assert any(name.startswith("kernels/ref/") for name in files_of("edgekit.runtime_c"))
    assert any(name.startswith("include/edgekit/") for name in files_of("edgekit.runtime_c"))


def packages() -> set[str]:
    """Every folder of Python files, of EdgeKit and of its stages."""
    folders = SETUPTOOLS["package-dir"].items()
    return {
        ".".join((package, *path.parent.relative_to(ROOT / folder).parts))
        for package, folder in folders
        for path in (ROOT / folder).rglob("__init__.py")
    }


def files_of(package: str) -> set[str]:
    """Every file below the package's folder in the checkout, not through the links of the stages."""
    folder = ROOT.joinpath("edgekit", *package.split(".")[1:]).resolve()
    below = (path for path in folder.rglob("*") if path.is_file() and path.suffix not in {".pyc", ".md"})
    return {path.relative_to(folder).as_posix() for path in below}
