// Package api holds the nouns of weft: what a document is, who said something
// (Origin), where (Path, Position), what is wrong with it (Violation, Note) and
// the state of the world at one moment (Snapshot).
//
// It promises strict decoding: every field of a document is known and in its
// place, or a Violation says which line is wrong and what to do. Values are
// immutable once they are part of a Snapshot, so every reader may share them.
//
// It refuses to decide anything: selection is matcher's, order and merging are
// resolve's and merge's.
package api
