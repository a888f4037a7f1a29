"""What the papers print: cells, readings and the checks that keep both honest."""
