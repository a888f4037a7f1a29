"""COSTA (SIGIR 2022): an encoder pre-trained without a decoder, by contrasting a text with random spans of
itself."""
