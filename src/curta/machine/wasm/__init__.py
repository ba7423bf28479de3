"""WebAssembly as a front end: binary and text formats, validation."""
