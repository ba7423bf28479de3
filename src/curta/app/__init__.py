"""The command line: parse, call, show. No logic of its own."""
