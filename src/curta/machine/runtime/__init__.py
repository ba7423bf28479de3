"""The library that the machine executes: 64-bit integers, floats and WASI in 32-bit code."""
