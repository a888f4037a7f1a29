"""The architectures of checkpoints that stages read, known without importing transformers if possible."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

CONVERTED = {"backbone": ("seed_encoder",)}  # stage -> architectures that the suite itself reads


@cache
def readable(model_type: str, stage: str) -> bool:
    """Whether a stage reads that architecture: one of transformers', or one that the suite converts."""
    if model_type in CONVERTED.get(stage, ()):
        return True
    [package_folder] = find_spec("transformers").submodule_search_locations
    if (Path(package_folder) / "models" / model_type.replace("-", "_")).is_dir():
        return True
    from transformers import CONFIG_MAPPING  # some architectures lie in another's folder

    return model_type in CONFIG_MAPPING
