"""Objectives and recipes of baseline rows that more than one paper reports."""
