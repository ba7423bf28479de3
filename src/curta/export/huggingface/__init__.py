"""The code that a folder for transformers has in it; it needs nothing of curta."""
