"""The WebAssembly computer: a machine inside the weights, and what brings programs to it."""
