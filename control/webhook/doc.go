// Package webhook answers the API server before it stores an object
// (spec/kubernetes.md 4.2): pods get their sidecars, documents their computed labels, and
// what weft could not serve is refused in the words of `weft validate`.
//
// It promises that an answer depends on the request and on what Cluster knows alone, and
// that asking has no effect, so that dry runs work; that all that is wrong is said at once;
// and that a bug met by one object is the error of that object, and stops no other. It
// never logs what an object holds.
//
// What API servers are told of it, MutatingConfiguration and ValidatingConfiguration, are
// values of the same package, so that paths and rules stand in one place.
package webhook
