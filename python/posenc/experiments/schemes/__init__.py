"""Schemes, one a file: each has a SCHEME."""
