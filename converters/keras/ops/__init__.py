"""Handlers of Keras' layers, named as their classes: what comes in, weights, then the settings."""
