"""EdgeKit turns trained models into small, readable C libraries."""

import os
from typing import TYPE_CHECKING

# Git on Windows makes no links by default: a clone then has files in place of the stages, which lie beside
# this folder.
if os.path.isfile(os.path.join(__path__[0], "codegen")):
    __path__.append(os.path.dirname(__path__[0]))

if TYPE_CHECKING:
    from edgekit.api import (
        Bench,
        Checkup,
        Difference,
        EdgeKitError,
        Effort,
        Estimate,
        Gate,
        Graph,
        Inspection,
        Limits,
        Profile,
        Project,
        Pruned,
        Pruning,
        Quantization,
        Report,
        Settings,
        Target,
        Tuned,
        Verification,
        bench,
        build,
        convert,
        diff,
        doctor,
        estimate,
        float_accuracy,
        generate,
        inspect,
        list_targets,
        load,
        new,
        profile,
        prune,
        quantize_model,
        raised_limits,
        read_labels,
        report,
        run,
        save,
        tune,
        verify,
    )

    __version__: str

__all__ = [
    "Bench",
    "Checkup",
    "Difference",
    "EdgeKitError",
    "Effort",
    "Estimate",
    "Gate",
    "Graph",
    "Inspection",
    "Limits",
    "Profile",
    "Project",
    "Pruned",
    "Pruning",
    "Quantization",
    "Report",
    "Settings",
    "Target",
    "Tuned",
    "Verification",
    "__version__",
    "bench",
    "build",
    "convert",
    "diff",
    "doctor",
    "estimate",
    "float_accuracy",
    "generate",
    "inspect",
    "list_targets",
    "load",
    "new",
    "profile",
    "prune",
    "quantize_model",
    "raised_limits",
    "read_labels",
    "report",
    "run",
    "save",
    "tune",
    "verify",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import when something is asked for: the version alone would add 40 ms to every start, numpy 100."""
        if name == "__version__":
            from importlib.metadata import version

            from edgekit.core import distribution

            # Kept: it takes milliseconds, and every generated file states it.
            globals()[name] = version(distribution.NAME)
            return globals()[name]
        if name in __all__:
            from edgekit import api

            return getattr(api, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted(__all__)
