"""Golden images: links to volumes, and what keeps them fresh."""
