"""The machine: a WebAssembly computer as one fixed set of transformer weights."""
