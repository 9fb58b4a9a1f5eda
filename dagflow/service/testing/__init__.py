"""`dagflow test`: cases that run a workflow with scripted answers on a clock that jumps."""
