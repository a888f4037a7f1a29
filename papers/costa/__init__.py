"""COSTA (SIGIR 2022): an encoder pre-trained alone, drawn towards random spans of its own text."""
