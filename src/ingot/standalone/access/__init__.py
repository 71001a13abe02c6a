"""Who may do what: certificates, tokens, users and RBAC of the API server on one machine."""
