"""Papers as data: their published cells, readings and claims, and the checks that keep them honest."""
