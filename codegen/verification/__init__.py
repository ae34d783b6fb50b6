"""Generated code against the simulator: here, and by the self-test on the device."""
