"""Loops and branches that are compiled once: a tape as the body of a loop."""
