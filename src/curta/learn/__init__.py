"""The training lab: small transformers that learn to compute, and how far they do."""
