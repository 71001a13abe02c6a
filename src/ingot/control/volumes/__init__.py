"""Volumes: DataVolumes, and the populators that fill claims."""
