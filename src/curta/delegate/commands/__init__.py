"""The commands of language models that calculate: a module each, as app/commands.py says."""
