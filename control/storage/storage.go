// Package storage is what stands around the store of a control plane: who wrote what, in the log and
// beside each revision, Secrets that are sealed where they are stored, and the history for people.
//
// It promises that a Secret is never stored in plain text, and that everything that is written is
// logged with the one who wrote it. Which store there is, and what may be written, others decide.
package storage
