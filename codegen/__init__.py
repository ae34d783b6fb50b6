"""A graph and a target become a folder of C files, compiled and verified."""
