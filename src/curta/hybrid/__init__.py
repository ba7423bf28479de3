"""A language model and compiled programs in one model."""
