"""Handlers of OpenVINO's operators, named as these: operands, then attributes."""
