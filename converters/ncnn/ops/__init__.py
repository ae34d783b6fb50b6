"""Handlers of ncnn's layers, named as these: the graph, the line with its settings, weights, and blobs."""
