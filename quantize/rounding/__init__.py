"""Weights and biases as integers that keep the outputs: GPTQ, bias correction, weight rounding."""
