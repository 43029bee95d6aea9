"""Scoring boxes where the truth is known; the only room that sees true boxes."""
