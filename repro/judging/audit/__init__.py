"""Faults that papers show by themselves: numbers that do not follow, disagree, or contradict a sentence."""
