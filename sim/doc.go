// Package sim says what would happen to a request, from what package resolve
// decided and nothing else.
//
// It promises exact shares instead of draws, and a reason for every route that
// was not taken. It never reads Envoy's configuration: tests hold it against
// real Envoys, so agreement means that both are right.
package sim
