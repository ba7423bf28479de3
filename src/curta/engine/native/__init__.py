"""What writes C from the weights. `native_level.py`, beside this folder, compiles and runs it."""
