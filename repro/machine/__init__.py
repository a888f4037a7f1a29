"""Java, torch, GPUs, memory, disk and versions of this machine, found without heavy imports."""
