"""Cargo with the sources of crates that Debian has, such as cc, and without a network."""

from pathlib import Path

from support.tools import require

CRATES = Path("/usr/share/cargo/registry")
CONFIG = f"""\
[source.crates-io]
replace-with = "debian"
[source.debian]
directory = "{CRATES}"
"""


def configure(folder: Path) -> None:
    """What Cargo reads in this folder and below."""
    require("/usr/share/doc/librust-cc-dev")
    (folder / ".cargo").mkdir()
    (folder / ".cargo/config.toml").write_text(CONFIG)


def settings(folder: Path) -> dict[str, str]:
    """The environment."""
    return {
        "PATH": f"{Path(require('cargo')).parent}:/usr/bin:/bin",
        "HOME": str(Path.home()),  # where rustup has its toolchains
        "CARGO_HOME": str(folder),
        "CARGO_INCREMENTAL": "0",
        "CARGO_PROFILE_DEV_DEBUG": "0",
        "CARGO_PROFILE_TEST_DEBUG": "0",
        "CARGO_NET_OFFLINE": "true",
    }
