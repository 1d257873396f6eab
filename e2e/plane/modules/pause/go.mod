// The process that holds a pod's namespaces open on a real node.
module kwicket.dev/plane/pause

go 1.26.0
