"""Collections: their catalogue, where they lie, the readers of their files, and small embedded ones."""
