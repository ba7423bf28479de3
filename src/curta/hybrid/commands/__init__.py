"""The commands of hybrid models: a module each, as app/commands.py says."""
