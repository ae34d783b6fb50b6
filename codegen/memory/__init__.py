"""Where tensors live: order of execution, lifetimes, aliasing, offsets in the arena."""
