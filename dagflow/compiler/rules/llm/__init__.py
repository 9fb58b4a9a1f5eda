"""Rules about language models."""
