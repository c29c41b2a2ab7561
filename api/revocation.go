package api

// RevocationsName is the name of the MeshTrafficPermission of a mesh that denies revoked identities
// over all else, each by override.deny with an exact spiffeID. Whoever stands in it gets no
// certificate and no configuration either (spec/identity.md 2.2).
func RevocationsName(mesh string) string { return "revoked-identities-" + mesh }
