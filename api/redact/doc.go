// Package redact keeps key material out of messages and documents: it tells a text that may
// be a key, clips what messages quote, and holds the values of Secrets, which print as a hash.
package redact
