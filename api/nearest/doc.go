// Package nearest finds the words that somebody who misspelt one may have meant.
package nearest
