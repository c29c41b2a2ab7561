// Package reconcile is the loop of a control plane: a change in the store becomes a new model, and the
// model is published to the sidecars that it concerns.
//
// It promises that the first change goes out at once, that a storm of changes coalesces with a bound
// on the delay, and that a bad document stops nothing. It holds no rule of policies or routes: those
// are the core's.
package reconcile
