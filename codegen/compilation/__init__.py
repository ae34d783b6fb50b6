"""Compiles generated libraries, measures them, and puts them into the user's folder."""
