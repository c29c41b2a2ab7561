// Package resolve decides what applies to every dataplane: which routes, in
// which order, which backends, and what each policy says at each place.
//
// Compile makes a Model of a Snapshot; Update makes the next one from the
// change alone, and the law is that both give the same. All that several
// dataplanes have in common is one shared value. A bad or lost object becomes a
// Note on itself and never stops the others.
//
// What a change concerns is found by links (mesh.links), and a link is by name:
// whatever ref the matcher accepts for a destination or a route must be linked
// under a name of it, or under anyTarget, else an update would miss it.
//
// It imports no Envoy and no Kubernetes, asks no clock, and knows a kind of
// policy only as a policies.Kind, a route language only as a route.Dialect.
package resolve
