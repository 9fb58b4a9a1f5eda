"""Rules about time."""
