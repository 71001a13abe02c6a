"""Uploads on a cluster: the endpoint behind a Service, and the API that gives tokens behind kube-apiserver."""
