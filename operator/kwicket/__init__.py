"""Fair Job admission for Kubernetes: which waiting Job may start now?"""

__version__ = "0.1.0"
