"""What names mean: where steps stand, what each expression sees, in which order to type."""

from __future__ import annotations
