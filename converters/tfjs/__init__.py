"""Models of TensorFlow.js: model.json, and weights in shards beside it."""

FORMAT = "TensorFlow.js"
SUFFIXES = (".json",)
HOLDS = ("keras", "tensorflow")  # the configuration of layers, or a graph
