"""Text for language models: tokenizers, which make token ids of text and text of token ids."""
