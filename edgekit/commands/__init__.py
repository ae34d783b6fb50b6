"""One file for each command; the command line finds them by their names.

A file `verb.py` defines the function `verb`, whose parameters are the options and whose docstring is the
help; what several commands share is in _shared.py.
"""
