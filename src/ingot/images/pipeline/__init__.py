"""From an image to a disk: read, verify, decode, write, publish."""
