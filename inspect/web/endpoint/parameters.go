package endpoint

import "github.com/weftmesh/weft/api/jsonschema"

// Parameters that several endpoints have.
var (
	PageSize   = Parameter{Name: "size", About: "How many items the page holds at most", Schema: Schema{"type": "integer", "minimum": 1, "maximum": LargestPage, "default": DefaultPage}}
	StatusSize = Parameter{Name: "size", About: "How many objects to tell of at most; all where it is not given", Schema: Schema{"type": "integer", "minimum": 1, "maximum": LargestPage}}
	PageOffset = Parameter{Name: "offset", About: "How many items come before the page", Schema: Schema{"type": "integer", "minimum": 0, "default": 0}}
	PartOfName = Parameter{Name: "name", About: "A part of the names of the items", Schema: Text(253)}
	ByLabels   = Parameter{Name: "filter", About: "Labels that the items carry, all of them: filter[labels.KEY]=VALUE", Deep: true,
		Schema: Schema{"type": "object", "additionalProperties": Text(253), "propertyNames": Schema{"pattern": `^labels\..+$`}}}
	ByTags = Parameter{Name: "tag", About: "Tags of an inbound or of the gateway, all of them, as KEY:PART of the value; of dataplanes only",
		Schema: jsonschema.ListOf(Schema{"type": "string", "pattern": "^[^:]+:", "maxLength": 1024})}
	ByGateway   = Parameter{Name: "gateway", About: "Whether the dataplane is a gateway, or of which kind; of dataplanes only", Schema: OneOf("true", "false", "delegated", "builtin")}
	InNamespace = Parameter{Name: "namespace", About: "The namespace of the object, where its name is not NAME.NAMESPACE", Schema: Text(253)}
	InMesh      = Parameter{Name: "mesh", About: "The mesh of the object, where the path names none", Schema: Text(253)}
	DryRun      = Parameter{Name: "dryRun", About: "Write nothing, and answer what would change", Schema: Schema{"type": "boolean", "default": false}}
)

// Text is the schema of a text of so many characters at most.
func Text(most int) Schema { return Schema{"type": "string", "maxLength": most} }

// OneOf is the schema of a text that is one of some words.
func OneOf(words ...string) Schema { return Schema{"type": "string", "enum": words} }

// How many items a page has where nobody says, and at most.
const (
	DefaultPage = 100
	LargestPage = 1000
)
