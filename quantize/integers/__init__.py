"""Float graph -> graph of integers, once scales and formats are known."""
