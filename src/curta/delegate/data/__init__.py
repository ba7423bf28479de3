"""Questions and answers that teach a model to call a calculator, and when not to."""
