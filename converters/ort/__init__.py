"""Models in the format of ONNX Runtime, as it saves them and as its mobile builds read them."""

FORMAT = "ORT"
SUFFIXES = (".ort",)
HOLDS = ("onnx",)  # as flatbuffers, after the runtime's optimizations
