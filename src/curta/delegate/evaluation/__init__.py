"""How often a model is right, and what goes wrong where it is not."""
