"""What is the newest version of an image, asked for with one request and without reading it."""
