// Package lookup finds what a request of a dataplane comes to: the outbound or edge
// listener that its URL leads to, the route that takes it for each draw of chance, and
// why the others do not.
package lookup
