"""A server for language models that call the calculator, in the shape of OpenAI's interface."""
