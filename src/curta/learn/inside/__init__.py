"""What a trained model has learned: where it looks, what it holds, what it cannot do without."""
