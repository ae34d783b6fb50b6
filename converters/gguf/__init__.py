"""Language models as llama.cpp has them: GGUF, one file with settings, tokenizer and weights."""

FORMAT = "GGUF"
SUFFIXES = (".gguf",)
HOLDS = ("transformers",)  # in a container of its own
