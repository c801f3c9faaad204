"""The generated pages, and everything that must say the same as they do."""
