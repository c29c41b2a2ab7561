// Package permission is what an inbound decides about who calls, and the requests by
// which two decisions are told apart. The kinds of policies that authorize implement
// its interfaces.
package permission
