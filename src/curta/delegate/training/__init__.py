"""Fine-tuning: low-rank adapters that teach a model to call."""
