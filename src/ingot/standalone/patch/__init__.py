"""What PATCH means: JSON, merge and strategic merge patches, server-side apply, and who manages which field."""
