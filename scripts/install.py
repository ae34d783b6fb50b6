"""Installs packages for the Python that runs this, as `pip install` does, in a fifth of its time.

uv does the work. It reads none of pip's settings, where a mirror or a certificate of the user's network may
be named, so they are translated. pip itself installs where a setting has no translation or uv fails.
"""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping

OPTIONS = {
    "index-url": "--index-url",
    "extra-index-url": "--extra-index-url",
    "find-links": "--find-links",
    "no-index": "--no-index",
    "constraint": "--constraint",
    "trusted-host": "--allow-insecure-host",
}
VARIABLES = {
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
}
IRRELEVANT = {
    "cache-dir",
    "config-file",
    "disable-pip-version-check",
    "no-input",
    "progress-bar",
    "quiet",
    "retries",
    "root-user-action",
}
FLAGS = {"no-index"}
# pip takes the best version of all indexes, and no release candidate.
AS_PIP_CHOOSES = ["--index-strategy", "unsafe-best-match", "--prerelease", "explicit"]


def pip_settings(lines: Iterable[str]) -> dict[str, str]:
    """What `pip config list` prints, by name. Later lines win: variables come after files."""
    settings = {}
    for line in lines:
        key, _, value = line.partition("=")
        settings[key.rpartition(".")[2]] = value.strip("'\"")
    return settings


def translated(settings: Mapping[str, str]) -> tuple[list[str], dict[str, str]] | None:
    """uv's options and variables for these settings; None if one has no translation."""
    options: list[str] = []
    variables = {}
    for name, value in settings.items():
        if name in FLAGS:
            options += [OPTIONS[name]] if value.lower() in ("1", "true", "yes", "on") else []
        elif name in OPTIONS:
            for each in value.split():
                options += [OPTIONS[name], each]
        elif name in VARIABLES:
            variables[VARIABLES[name]] = value
        elif name not in IRRELEVANT:
            return None
    return options, variables


def pip(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "pip", "--disable-pip-version-check", *arguments]


def has_uv() -> bool:
    found = importlib.util.find_spec("uv") is not None
    return found or not subprocess.run(pip("install", "--quiet", "uv")).returncode


def install_by_uv(requirements: list[str]) -> bool:
    listed = subprocess.run(pip("config", "list"), capture_output=True, text=True, check=True).stdout
    settings = translated(pip_settings(listed.splitlines()))
    if settings is None or not has_uv():
        return False
    options, variables = settings
    command = [sys.executable, "-P", "-m", "uv", "pip", "install", "--python", sys.executable]
    return not subprocess.run(
        [*command, *AS_PIP_CHOOSES, *options, *requirements], env={**os.environ, **variables}
    ).returncode


def main(requirements: list[str]) -> int:
    if install_by_uv(requirements):
        return 0
    # Bytecode comes with the first import: most modules of most packages are never imported.
    return subprocess.run(pip("install", "--no-compile", "--progress-bar", "off", *requirements)).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
