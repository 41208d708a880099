"""Where metadata comes from: JSON of our own, rows of the arXiv metadata snapshot, in files or standard input."""
