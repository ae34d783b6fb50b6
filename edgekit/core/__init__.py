"""What every stage shares: graphs, operators, passes, exact integer and float math, targets, files."""
