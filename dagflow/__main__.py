"""`python -m dagflow`."""

from __future__ import annotations

from dagflow.cli import main

main()
