"""The commands of the training lab: a module each, as app/commands.py says."""
