"""Results for people and scripts: text, JSON and HTML pages."""
