"""Is it all in the weights? Kept runs beside other levels, and beside wasmtime."""
