// Package api holds the nouns of weft: what a document is, who said something
// (Origin), where (Path, Position), what is wrong with it (Violation, Note) and
// the state of the world at one moment (Snapshot).
//
// It promises that values are immutable once they are part of a Snapshot, so
// every reader may share them, and that each Spec reports all that is wrong with it.
//
// It refuses to read text, which is decode's, and to decide anything: selection
// is matcher's, order and merging are resolve's and merge's.
package api
