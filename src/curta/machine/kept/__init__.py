"""Runs that are kept in a file, to go on with them or to check them."""
