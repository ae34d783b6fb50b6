"""One TOML file for each machine that code is generated for, as package data."""
