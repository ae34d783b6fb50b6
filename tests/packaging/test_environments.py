"""scripts/install.py installs by uv what pip would, from where pip would take it."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts import install

ROOT = Path(__file__).parents[2]


def test_settings_of_pip_become_those_of_uv() -> None:
    listed = [
        "global.extra-index-url='https://mirror.test/simple https://other.test/simple'",
        "global.index-url='https://old.test/simple'",
        ":env:.index-url='https://new.test/simple'",
        ":env:.cert='/etc/ca.crt'",
        ":env:.no-index='false'",
        "global.progress-bar='off'",
    ]
    assert install.translated(install.pip_settings(listed)) == (
        [
            *("--extra-index-url", "https://mirror.test/simple"),
            *("--extra-index-url", "https://other.test/simple"),
            *("--index-url", "https://new.test/simple"),
        ],
        {"SSL_CERT_FILE": "/etc/ca.crt"},
    )


def test_a_setting_without_translation_is_left_to_pip() -> None:
    assert install.translated(install.pip_settings(["global.require-hashes='true'"])) is None


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder with two versions of a package; the newer one is a release candidate."""
    for version in ("1.0", "1.1rc1"):
        metadata = f"sample-{version}.dist-info"
        with zipfile.ZipFile(tmp_path / f"sample-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("sample.py", f"version = {version!r}\n")
            wheel.writestr(
                f"{metadata}/METADATA", f"Metadata-Version: 2.1\nName: sample\nVersion: {version}\n"
            )
            wheel.writestr(
                f"{metadata}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"{metadata}/RECORD", "")
    return tmp_path


@pytest.mark.parametrize(
    ("more", "program"), [({}, "uv"), ({"PIP_PREFER_BINARY": "1"}, "pip")], ids=["uv", "pip"]
)
def test_both_install_the_newest_release_from_the_users_folder(
    wheels: Path, more: dict[str, str], program: str
) -> None:
    place = wheels / "place"
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    own = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), **more}
    command = [sys.executable, ROOT / "scripts" / "install.py", "--target", place, "sample"]
    done = subprocess.run(command, env=variables | own, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (place / "sample.py").read_text() == "version = '1.0'\n"
    assert (place / "sample-1.0.dist-info" / "INSTALLER").read_text().strip() == program
