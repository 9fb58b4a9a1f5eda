"""The engine: sequences, sampling, text and scheduling in plain Python, without torch."""
