"""Delegation: a language model writes a calculation, and something exact answers it."""
