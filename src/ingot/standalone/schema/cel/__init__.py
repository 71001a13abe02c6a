"""CEL, the language of validation rules, as Kubernetes speaks it: typed by a schema, bounded in cost.

Neither CEL library for Python would do: both lack optional access (`a.?b`), types, Kubernetes' functions and a limit on
work, and both copy the whole object before the first step. This one walks the object where it lies.
"""
