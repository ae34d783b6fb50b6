"""Puts a report on a pull request by `gh`: edits the comment with the last one, or adds a comment."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def gh(*arguments: str) -> str:
    command = ["gh", "api", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main(repository: str, number: str, report: str) -> None:
    text = Path(report).read_text(encoding="utf-8")
    mark = text.partition("\n")[0]
    comments = gh("--paginate", f"repos/{repository}/issues/{number}/comments", "--jq", ".[] | {id, body}")
    ours = [c["id"] for c in map(json.loads, comments.splitlines()) if c["body"].startswith(mark)]
    if ours:
        gh("--method", "PATCH", f"repos/{repository}/issues/comments/{ours[0]}", "-F", f"body=@{report}")
    else:
        gh("--method", "POST", f"repos/{repository}/issues/{number}/comments", "-F", f"body=@{report}")


if __name__ == "__main__":
    main(*sys.argv[1:])
