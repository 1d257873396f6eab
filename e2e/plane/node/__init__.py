"""A real node: kubelet, containerd and kube-proxy in namespaces of their own, as root on Linux."""
