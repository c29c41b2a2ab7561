// Package xds turns what package resolve decided into Envoy's resources.
//
// It promises that equal input gives equal bytes, that every object names in
// its metadata the origins whose values stand in it and nobody else, and that
// nothing leaves it that Envoy would refuse. Shared values are rendered once:
// a route table, a cluster, an endpoint list each become one Resource that all
// sidecars share. It decides nothing: order, merging and targets are resolve's.
//
// This package puts together what an Envoy gets. What it is put together from is rendered by
// packages below it, which know nothing of each other but names: routes, listeners, clusters,
// endpoints, secrets.
package xds
