"""The verb that starts a project around a model."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from edgekit import projects
from edgekit.api import notebook_progress
from edgekit.api.models import Model, convert
from edgekit.api.samples import Inputs, typical
from edgekit.codegen.packages import Content
from edgekit.core.arguments import checked
from edgekit.core.progress import Progress
from edgekit.core.target import Optimize
from edgekit.deprecation import renamed_keyword
from edgekit.projects import Project


@renamed_keyword("sample", "samples")
@checked
def new(
    folder: str | PathLike[str],
    model: Model,
    *,
    template: str = "c",
    target: str = "",
    optimize: Optimize = "speed",
    classes: Sequence[str] = (),
    samples: Inputs | None = None,
    verify: bool | None = None,
    progress: Progress = notebook_progress.show,
) -> Project:
    """Make a folder with a model, its library, and a program around it that builds at once. `template` is a
    kind of project, such as "c", "rust", "web" or "zephyr": docs/new-project.md lists them; `target` by
    default what suits it. A folder that is there already is refused, unless it is empty. `classes` are what
    the values of an output are called, which the program prints, and `samples` typical inputs, as `build`
    takes them.
    `verify`: False leaves the comparison with the simulator out, True fails where it cannot be done.
    `progress` is called with a message for each step."""
    kind = projects.find(template)
    projects.check(Path(folder))
    progress("reading the model")
    graph = convert(model)
    given = typical(graph, samples)
    return projects.create(
        Path(folder),
        graph,
        kind,
        target=target,
        optimize=optimize,
        content=Content(tuple(classes), given[0] if given else None),
        samples=given,
        verify=verify,
        progress=progress,
    )
