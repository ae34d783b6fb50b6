"""Pruning: channels taken out of a network, so that what is left is a smaller dense network."""
