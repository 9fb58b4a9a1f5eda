"""Rules about security."""
