"""The training loop and what it is made of; objectives themselves are modules of ``nn`` and of papers."""
