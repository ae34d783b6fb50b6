"""Tokenizers and samplers as C beside a language model."""
