// Package conformance holds weft against the conformance tests that the Gateway API
// publishes: a real API server and etcd, weft's control plane, and real Envoys.
//
// It is a module of its own, so that what those tests need is not among what weft needs.
// There are no kubelet and no controllers: cluster plays them, each pod in a network
// namespace of its own with the echo server of the tests; mirror carries documents to the
// control plane and status back; edges starts the workload of every Gateway. Everything is in
// one network namespace that the target `make conformance` makes.
package conformance
