"""The typed unit: a frozen language model that computes in the pass in which it reads."""
