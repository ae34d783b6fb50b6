"""Encodings that several model formats build on: archives, protocol buffers, FlexBuffers, HDF5, JSON."""
