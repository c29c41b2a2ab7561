// Package subscription is one type of resources on one stream: what the client asked for, which version it has of
// each resource, what it refuses, and the next response to it. It knows nothing of other types, nor of when what is
// sent or taken away: that is said by the Offer of which a response is made.
//
// Nothing here is for more than one goroutine at a time.
package subscription
