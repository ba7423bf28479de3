"""Transformers and their options."""
