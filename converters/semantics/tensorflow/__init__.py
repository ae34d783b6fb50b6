"""Operators as TensorFlow computes them, which TFLite means as well: functions of the names of TensorFlow."""
