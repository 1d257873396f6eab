"""What a hostile or careless tenant tries, by the rows of the threat table, on two Kubernetes."""
