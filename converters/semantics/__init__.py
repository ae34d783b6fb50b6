"""What operators of several formats mean alike, in operators of EdgeKit."""
