"""The calculator that a language model can call: exact, bounded, and without any `eval`."""

from curta.delegate.calculator.budget import Budget
from curta.delegate.calculator.calculator import Calculator, Result

__all__ = ["Budget", "Calculator", "Result"]
