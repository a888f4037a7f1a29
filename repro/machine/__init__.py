"""Java, torch, GPUs, memory, disk and versions of this machine, found without heavy imports."""

from repro.machine.components import Component, java, survey, torch_info
from repro.machine.jvm import missing as java_missing
from repro.machine.system import cores, disk_free, gpu, hardware, memory
from repro.machine.versions import commit, software

__all__ = [
    "Component",
    "commit",
    "cores",
    "disk_free",
    "gpu",
    "hardware",
    "java",
    "java_missing",
    "memory",
    "software",
    "survey",
    "torch_info",
]
