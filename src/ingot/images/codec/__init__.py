"""Compressed streams: what they are by their first bytes, and how to read them."""
