"""What samples show of a network, and the ranges and scales that follow."""
