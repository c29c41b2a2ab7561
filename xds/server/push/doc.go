// Package push decides what one stream is sent, and when.
//
// A publication reaches a client in three phases, or requests are lost between
// them: new and changed clusters with their endpoints; then routes and
// listeners, each as soon as the clusters that it names are confirmed; then the
// removal of routes that no listener names any more, not even one that still
// drains, and after it that of clusters. Every phase is only a condition on what a
// response may hold now, asked again whenever something changed: there is no state
// of a phase that could get stuck.
//
// A Stream has no lock. Who holds it calls it for one goroutine at a time; DataplaneRecord
// alone is for several.
package push
