"""``.ci/commands.py``, which is no package's module, for tests."""

import importlib.util
from pathlib import Path
from types import ModuleType


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


_module = module(Path(__file__).resolve().parents[1] / ".ci/commands.py")
BLOCK, GENERATED, commands, pages = _module.BLOCK, _module.GENERATED, _module.commands, _module.pages
