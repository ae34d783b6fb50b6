"""Programs for GPUs: kernels, plans of dispatches, and the files that run them."""
