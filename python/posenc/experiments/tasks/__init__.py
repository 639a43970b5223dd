"""Tasks, one a file: each has a TASK."""
