"""The verbs of EdgeKit in Python; `edgekit` exports them, and the command line only puts them into words."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgekit.api.insight import diff, inspect
    from edgekit.api.libraries import bench, build, estimate, run, verify
    from edgekit.api.models import convert, list_targets, load, save
    from edgekit.api.pages import profile, report
    from edgekit.api.samples import read_labels
    from edgekit.api.smaller import float_accuracy, prune, quantize_model, tune
    from edgekit.api.starting import new
    from edgekit.api.text import generate
    from edgekit.checkup import Checkup, doctor
    from edgekit.codegen.compilation.build import Report
    from edgekit.codegen.cost.bench import Bench
    from edgekit.codegen.cost.estimate import Estimate
    from edgekit.codegen.verification.verify import Verification
    from edgekit.comparison.difference import Difference
    from edgekit.core.errors import EdgeKitError
    from edgekit.core.ir import Graph
    from edgekit.core.limits import raised_limits
    from edgekit.core.target import Target
    from edgekit.inspection import Inspection
    from edgekit.profiling.profile import Profile
    from edgekit.projects import Project
    from edgekit.quantize.gate import Gate
    from edgekit.quantize.outcome import Quantization
    from edgekit.quantize.pruning.plan import Pruned, Pruning
    from edgekit.quantize.settings import Settings
    from edgekit.tuning.output import Limits
    from edgekit.tuning.tune import Effort, Tuned

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

# Where names are looked for, in this order: what builds do not need stands last.
_MODULES = (
    *("edgekit.api.models", "edgekit.api.libraries", "edgekit.api.samples", "edgekit.checkup"),
    *("edgekit.api.insight", "edgekit.quantize.gate", "edgekit.api.smaller"),
    *("edgekit.api.pages", "edgekit.api.text", "edgekit.api.starting", "edgekit.core.limits"),
)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import when something is asked for: a build needs nothing of pruning and tuning."""
        if name in __all__:
            for module in map(import_module, _MODULES):
                if hasattr(module, name):
                    return getattr(module, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted(__all__)
