"""Workflows that careful people would write, from many trades: none of them has a finding."""
