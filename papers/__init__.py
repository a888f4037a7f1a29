"""The papers under reproduction, a folder each; and the baselines they share."""
