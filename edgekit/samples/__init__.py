"""Samples and other arrays that users give, in any layout of their files."""
