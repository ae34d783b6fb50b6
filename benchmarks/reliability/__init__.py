"""Scripts that write docs/reliability.md: each measures one promise, and can be run again by anyone."""
