// Package control puts a control plane together: the store, the loop that makes models of it, what
// serves sidecars and their agents, the API, and what replicas of a cluster share.
//
// What each of these does is in a package of its own. This one gives every part what it needs as
// values, and starts and stops them in order.
package control

import "github.com/weftmesh/weft/control/config"

// Config is how a control plane runs.
type Config = config.Config

// Default is the configuration of `weft serve` without flags.
func Default() Config { return config.Default() }
