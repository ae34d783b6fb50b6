"""Programs for graphics processors: kernels, plans of dispatches, and the files that run them."""
