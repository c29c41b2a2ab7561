// Package resolve decides what applies to every dataplane: which routes, in
// which order, which backends, and what each policy says at each place.
//
// Compile makes a Model of a Snapshot; Update makes the next one from the
// change alone, and the law is that both give the same. All that several
// dataplanes have in common is one shared value. A bad or lost object becomes a
// Note on itself and never stops the others.
//
// What a change concerns nobody writes down: every stage is a collection of
// package derive, which takes down what each value was made from (docs/architecture.md
// has the stages, each of which declares its own with derive.Derive). A collection that looks others up by a name must
// find whatever the matcher accepts, under a name of it or under index.Any.
//
// It imports no Envoy and no Kubernetes, asks no clock, and knows a kind of
// policy only as a policies.Kind, a route language only as a route.Dialect.
package resolve
