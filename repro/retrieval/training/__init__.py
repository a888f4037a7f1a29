"""The training loop and its components. Objectives are modules of ``nn`` and of papers."""
