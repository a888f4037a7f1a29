"""``.ci/commands.py``, which is no package's module, for tests."""

import importlib.util
from pathlib import Path

_spec = importlib.util.spec_from_file_location(
    "ci_commands", Path(__file__).resolve().parents[1] / ".ci/commands.py"
)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
BLOCK, commands, pages = _module.BLOCK, _module.commands, _module.pages
