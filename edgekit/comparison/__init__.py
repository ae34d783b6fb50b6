"""Two graphs side by side: which values correspond, and how far they are apart."""
