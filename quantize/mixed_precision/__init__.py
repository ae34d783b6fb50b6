"""A number format for each layer: int8, int4, 16-bit floats, and which layers take which."""
