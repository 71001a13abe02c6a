"""Container registries: the distribution protocol of OCI and Docker."""
