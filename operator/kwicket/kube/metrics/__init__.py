"""Metrics for Prometheus: the only folder that knows its client.

What happens is counted when it happens; how things stand is read when somebody asks. Each metric is
in catalogue.py, and docs/metrics.md lists them.
"""
