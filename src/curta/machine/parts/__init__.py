"""The parts of the machine's graph, from tokens to speech."""
