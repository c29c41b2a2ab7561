// Package chart holds what `weft install control-plane` prints to what Helm makes of the
// chart. It is a module of its own: weft does without Helm's engine.
package chart
