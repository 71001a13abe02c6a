"""Snapshots of machines, and machines made of them again."""
