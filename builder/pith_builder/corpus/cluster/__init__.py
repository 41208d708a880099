"""A corpus run on a Ray cluster: inputs are cut into shards, and each gives a file of its own."""
