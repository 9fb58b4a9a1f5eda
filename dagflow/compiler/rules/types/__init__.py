"""Rules about types."""
