"""Language models of the Llama family, as folders of Hugging Face: config.json and safetensors."""

FORMAT = "transformers"
SUFFIXES = (".safetensors",)
