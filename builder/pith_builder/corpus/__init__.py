"""Many papers: a whole snapshot issued by several processes, its exports, and the same step for engines of clusters."""
