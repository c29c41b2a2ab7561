// Package timeline plays the attempts of one request in time: timeouts, retries with
// their back-off, and the ways in which the request may end.
package timeline
