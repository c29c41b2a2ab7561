package web

// The parameters of queries.
var ()
