"""Keras models."""

FORMAT = "Keras"
SUFFIXES = (".keras", ".h5", ".hdf5")
