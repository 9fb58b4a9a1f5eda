"""Models: reading their files, and one architecture a module."""
