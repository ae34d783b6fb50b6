"""Makes `examples` a package that tests can import; the folder around it stays out of the path."""

import sys
import types

from support.tools import ROOT

_PACKAGE = types.ModuleType("examples")
_PACKAGE.__path__ = [str(ROOT / "examples")]
sys.modules.setdefault("examples", _PACKAGE)
EXAMPLES = ROOT / "examples"
