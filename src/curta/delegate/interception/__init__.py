"""Calls are noticed while a model writes, answered, and the answer put behind them."""
