"""What a device says of its runs, beside what is known without it."""
