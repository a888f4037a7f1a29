"""Facts about this machine, found without heavy imports: Java, torch, GPUs, memory, disk, versions."""
