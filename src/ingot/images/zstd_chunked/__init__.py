"""Layers in zstd:chunked form: tar layers whose files can be read in pieces, each piece with its digest."""
