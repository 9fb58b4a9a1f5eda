"""Deadlines, schedules and use: the algorithms against published tables and brute force."""

from __future__ import annotations
