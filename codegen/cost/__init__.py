"""What a run costs: estimated from calibrated kernels, counted in emulators, measured on machines."""
