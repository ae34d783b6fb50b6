"""Portable graphs become smaller ones: pruning and number formats of fewer bits."""
