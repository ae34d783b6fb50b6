"""MediaPipe task bundles."""

FORMAT = "MediaPipe task bundle"
SUFFIXES = (".task",)
HOLDS = ("tflite",)
