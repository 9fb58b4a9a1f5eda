"""The language server: what editors show while a workflow is written, from the same checks."""
