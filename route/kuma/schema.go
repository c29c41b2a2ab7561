package kuma

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/jsonschema"
)

// Schema is the schema of the spec of a MeshHTTPRoute.
func (*HTTPRoute) Schema(c *api.Catalog) jsonschema.Schema {
	s := describe(jsonschema.For[HTTPRoute](), c)
	does := s.Member("to", "[]", "rules", "[]", "default")
	backendRefs(does, c)
	backendRef(does.Member("filters", "[]", "requestMirror", "backendRef"), c)
	const gateway = "has(self.targetRef) && self.targetRef.kind == 'MeshGateway'"
	return s.Rule(
		api.ValidationRule{Test: gateway + " || !has(self.to) || !self.to.exists(t, has(t.hostnames) && size(t.hostnames) > 0)",
			Message: "hostnames belong to routes of a MeshGateway; remove them", Field: ".to"},
		api.ValidationRule{Test: gateway + " || !has(self.to) || !self.to.exists(t, t.targetRef.kind == 'Mesh')",
			Message: "Mesh stands in to of routes of a MeshGateway alone; name a service", Field: ".to"})
}

// Schema is the schema of the spec of a MeshTCPRoute.
func (*TCPRoute) Schema(c *api.Catalog) jsonschema.Schema {
	s := describe(jsonschema.For[TCPRoute](), c)
	backendRefs(s.Member("to", "[]", "rules", "[]", "default"), c)
	return s
}

// describe adds to the schema of either the refs that select dataplanes and
// destinations; their twin is refs.validate.
func describe(s jsonschema.Schema, c *api.Catalog) jsonschema.Schema {
	s.Member("targetRef").Ref(api.RefRules{Top: true, Kinds: topKinds, Catalog: c})
	s.Member("to", "[]", "targetRef").Ref(api.RefRules{Kinds: gatewayKinds, Catalog: c})
	s.Member("to", "[]")["required"] = []string{"targetRef"}
	return s
}

// backendRefs is what a rule does with its backends: each has a weight.
func backendRefs(does jsonschema.Schema, c *api.Catalog) {
	ref := does.Member("backendRefs", "[]")
	ref.Member("weight")["default"] = 1
	backendRef(ref, c)
}

// backendRef adds the rules of a backend; their twins are refs.validate and BackendRef.validate.
func backendRef(s jsonschema.Schema, c *api.Catalog) {
	s.Ref(api.RefRules{Kinds: backendKinds, Catalog: c}).Rule(
		api.ValidationRule{Test: "!has(self.port) || self.kind != 'MeshServiceSubset' && !(" + api.Given("sectionName") + ")",
			Message: "port stands neither beside sectionName nor in a MeshServiceSubset; remove it", Field: ".port"},
		api.ValidationRule{Test: "has(self.port) || self.kind != 'MeshMultiZoneService'", Message: "the port is missing; write that of the MeshMultiZoneService"})
}

// Rules of a comparison of the path; their twin is validatePath.
func (PathMatch) Rules() []api.ValidationRule {
	return []api.ValidationRule{
		{Test: "self.type == 'RegularExpression' || self.value.startsWith('/')", Message: "is not absolute; begin it with /", Field: ".value"},
		{Test: "self.type != 'PathPrefix' || self.value == '/' || !self.value.endsWith('/')",
			Message: "ends in /; write it without: a prefix matches whole segments", Field: ".value"},
	}
}

// Rules of a filter; their twin is Filter.validate.
func (Filter) Rules() []api.ValidationRule {
	return []api.ValidationRule{{
		Test: "(self.type == 'RequestHeaderModifier') == has(self.requestHeaderModifier)" +
			" && (self.type == 'ResponseHeaderModifier') == has(self.responseHeaderModifier)" +
			" && (self.type == 'RequestRedirect') == has(self.requestRedirect)" +
			" && (self.type == 'URLRewrite') == has(self.urlRewrite)" +
			" && (self.type == 'RequestMirror') == has(self.requestMirror)",
		Message: "a filter has the field of its type and no other; write it, or change the type",
	}}
}

// Rules of a new path; their twin is PathRewrite.validate.
func (PathRewrite) Rules() []api.ValidationRule {
	return []api.ValidationRule{
		{Test: "(self.type == 'ReplaceFullPath') == has(self.replaceFullPath) && (self.type == 'ReplacePrefixMatch') == has(self.replacePrefixMatch)",
			Message: "a replacement has the field of its type and no other; write it, or change the type"},
		{Test: "!has(self.replaceFullPath) || self.replaceFullPath.startsWith('/')", Message: "is not absolute; begin it with /", Field: ".replaceFullPath"},
		{Test: "!has(self.replacePrefixMatch) || self.replacePrefixMatch == '' || self.replacePrefixMatch.startsWith('/')",
			Message: "is not absolute; begin it with /", Field: ".replacePrefixMatch"},
	}
}

// Rules of a rewrite; their twin is URLRewrite.validate.
func (URLRewrite) Rules() []api.ValidationRule {
	const backends = "has(self.hostToBackendHostname) && self.hostToBackendHostname"
	return []api.ValidationRule{
		{Test: "!(" + backends + " && " + api.Given("hostname") + ")", Message: "hostname and hostToBackendHostname exclude each other; remove one of them"},
		{Test: backends + " || " + api.Given("hostname") + " || has(self.path)", Message: "rewrites nothing; write hostname or path"},
	}
}
