"""A lowered program as text: the files of a generated library."""
