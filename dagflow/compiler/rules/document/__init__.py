"""Rules about the document itself."""
