"""TFLite models."""

FORMAT = "TFLite"
SUFFIXES = (".tflite", ".lite")
