"""One file for each revision, in order."""

from __future__ import annotations
