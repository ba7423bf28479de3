"""Reports: pages in one file, and the pictures in them, for every room that writes some."""
