"""How fast a paid service may be asked and what may be spent there, over all workers."""
