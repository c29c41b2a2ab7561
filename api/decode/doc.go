// Package decode reads documents: YAML or JSON, in Kuma's own envelope or in
// that of Kubernetes, into the objects of package api; and prints objects so
// that reading gives them again.
//
// It promises strictness: every field of a document is known and in its place,
// or a Violation says which line is wrong and what to do. It reports everything
// that is wrong in a text, not the first mistake.
//
// It refuses to know kinds: a Catalog says which there are, and the Spec of
// each says what its fields mean.
package decode
