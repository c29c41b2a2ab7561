// Package re2 is what regular expressions mean to Envoy, whose RE2 reads them and their
// subjects byte by byte: how Go's package takes them alike, and whether a text is in
// several of them.
package re2
