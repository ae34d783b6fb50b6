"""Modules that the page imports in the place of compiled ones, by the names of those."""
