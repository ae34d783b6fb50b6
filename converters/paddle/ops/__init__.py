"""Handlers of Paddle's operators, named as in PIR; older operators of other names stand beside the newer."""
