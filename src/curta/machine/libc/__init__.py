"""Pieces of the C library, written for few core instructions; see `build`."""
