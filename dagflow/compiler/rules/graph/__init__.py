"""Rules about the graph."""
