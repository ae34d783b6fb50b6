"""Tuning: the pruning, the formats and the code with which a model fits a board, found by trial."""
