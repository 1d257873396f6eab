// Keys and certificates of a plane, from the standard library alone.
module kwicket.dev/plane/credentials

go 1.26.0
