package resolve

// Cluster, endpointsKept, inboundKept and the others are values and what stands beside them,
// each made in one piece.
type ()
