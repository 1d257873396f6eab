"""The webhook: answers to the API server's admission reviews. Nothing that is safe depends on it.

It suspends Jobs where the API server has no MutatingAdmissionPolicy, and says at once what the
operator would say later. Whatever it can't judge, it lets through; whatever is no review, it never
allows.
"""
