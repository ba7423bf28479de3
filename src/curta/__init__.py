"""curta: language models that compute exactly."""

__version__ = "0.1.0"
