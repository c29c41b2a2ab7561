package store

// Position says how much of a cluster is known, so that control planes whose revisions are
// counters of their own can be compared: by resource the version up to which it was heard.
// Versions of one resource are numbers that grow, the same for all who ask one API server.
type Position map[string]uint64

// Step is what one publication adds to the position of a store.
type Step struct {
	Revision uint64
	// Heard is how far the store is now, of what has moved. It is less than before where the
	// cluster itself is as it was earlier: its documents were restored.
	Heard Position
	// Follows are all that are followed, in order; nil where they are as before.
	Follows []string
	// Changed are those of Heard of which documents have changed: who has heard as much has
	// the same documents. Of the others nobody else need hear.
	Changed Position
}
