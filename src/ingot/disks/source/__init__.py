"""Sources: one file for each, which leads from a volume's own words to an endpoint."""
