"""Transformer weights in, tokens out."""
