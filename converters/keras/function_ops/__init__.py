"""Handlers of the functions of keras.ops in functional models, named as their classes."""
