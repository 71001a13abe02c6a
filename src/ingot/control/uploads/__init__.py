"""Who may upload to a claim: tokens, and what the pod that takes an upload proves itself with."""
