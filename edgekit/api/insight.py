"""The verbs that tell what is in a model, and what sets two apart."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from itertools import islice

from edgekit import inspection
from edgekit.api import notebook_progress
from edgekit.api.models import Model, convert, target_of
from edgekit.api.samples import Inputs, samples_of
from edgekit.comparison import difference
from edgekit.comparison.difference import Difference, Order
from edgekit.core import simulate
from edgekit.core.arguments import checked
from edgekit.core.errors import EdgeKitError
from edgekit.core.progress import Progress
from edgekit.core.target import Target
from edgekit.core.types import Array
from edgekit.deprecation import renamed_keyword
from edgekit.inspection import Inspection


@checked
def inspect(model: Model, *, target: str | Target = "host") -> Inspection:
    """What is in a model, and the working memory that it needs on a target."""
    return inspection.inspect(convert(model), target_of(target))


@renamed_keyword("tell", "progress")
@checked
def diff(
    a: Model,
    b: Model,
    inputs: Inputs | None = None,
    *,
    order: Order = "culprit",
    most: int | None = None,
    progress: Progress = notebook_progress.show,
) -> Difference:
    """How far two models are apart in the simulator, on these inputs (a folder of files, too) or on seeded
    random ones: the outputs, and the layers that both have. `order`: first the layer that does most harm, or
    as in the graph. `most` limits the samples."""
    if most is not None and most < 1:
        raise EdgeKitError("E0103", f"most is {most} samples", hint="it may be 1 or more")
    first, second = convert(a), convert(b)
    if inputs is None:
        samples: Iterable[Mapping[str, Array]] = (simulate.random_inputs(first, seed) for seed in range(3))
    else:
        samples = samples_of(first, inputs)
    return difference.diff(
        first,
        second,
        list(islice(samples, None if most is None else min(most, sys.maxsize))),
        order=order,
        progress=progress,
    )
