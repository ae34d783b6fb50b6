"""Tests of the training side need torch, which is an extra: without it they are not collected."""

import os
from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") or os.environ.get("EDGEKIT_REQUIRE_TOOLS") else ["test_*.py"]
