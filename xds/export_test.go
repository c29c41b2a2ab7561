package xds

// What the tests hold against Envoy itself.
var CheckRoute = checkRoute
