"""Model files of other frameworks become portable graphs."""
