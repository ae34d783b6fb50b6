"""Runs compiled programs: here, in emulators and in engines of WebAssembly."""
