package weft_test

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Why several packages may have an exported type of one name.
const (
	ofPackage = "Go's custom: the name is read with its package, as config.Config"
	oneThing  = "one thing: as documents say it, as it was read, as it holds, as an answer shows it, as another program has it"
	asked     = "one thing: the interface by which a package asks for it, and what implements that"
)

// repeated are the names of exported types that several packages have, with the reason.
// The list may only shrink: a new type gets a name that says what it is.
var repeated = map[string]string{
	"Builder": ofPackage, "Config": ofPackage, "Handler": ofPackage, "Handlers": ofPackage, "Key": ofPackage, "Options": ofPackage,
	"Printer": ofPackage, "Reader": ofPackage, "Report": ofPackage, "Result": ofPackage, "Row": ofPackage, "Schema": ofPackage, "Server": ofPackage,
	"Settings": ofPackage, "Spec": ofPackage, "State": ofPackage, "Status": ofPackage, "Template": ofPackage, "Values": ofPackage,

	"CAAdmin": asked, "Documents": asked, "FleetCounts": asked, "Lister": asked, "Maker": asked, "Observer": asked, "Plane": asked, "Rank": asked,
	"Renderer": asked, "Sidecars": asked, "Store": asked, "Users": asked,

	"AccessRequest": oneThing, "Annotation": oneThing, "Authority": oneThing, "Backend": oneThing, "Branch": oneThing, "CallerPolicies": oneThing,
	"Certificate": oneThing, "Change": oneThing, "ClientLimit": oneThing, "Collected": oneThing, "Column": oneThing, "Composition": oneThing,
	"Counts": oneThing, "Dataplane": oneThing, "Definition": oneThing, "Destination": oneThing, "Document": oneThing, "Edge": oneThing,
	"Endpoints": oneThing, "Event": oneThing, "Failure": oneThing, "Field": oneThing, "FilterChain": oneThing, "GeneratorReport": oneThing,
	"Header": oneThing, "Hostname": oneThing, "Identity": oneThing, "Inbound": oneThing, "InboundRule": oneThing, "InboundTLS": oneThing,
	"Item": oneThing, "Members": oneThing, "Meta": oneThing, "Mirror": oneThing, "Namespace": oneThing, "Object": oneThing,
	"Outbound": oneThing, "Outbounds": oneThing, "Owner": oneThing, "Pod": oneThing, "Pods": oneThing, "Policy": oneThing, "Problem": oneThing,
	"Refusal": oneThing, "Request": oneThing, "Resource": oneThing, "Root": oneThing, "Rotated": oneThing, "Route": oneThing, "Rule": oneThing,
	"Secret": oneThing, "ServerName": oneThing, "Service": oneThing, "Sidecar": oneThing, "StatusCondition": oneThing, "Stream": oneThing,
	"SupersededList": oneThing, "Table": oneThing, "Tally": oneThing, "Timeouts": oneThing, "Token": oneThing, "Unconfirmed": oneThing,
	"Upgrade": oneThing, "User": oneThing, "Violation": oneThing, "Workload": oneThing, "Zone": oneThing,

	"About":       "who answers GET /, and what an event is about",
	"Cluster":     "Envoy's; in control/webhook Kubernetes'",
	"Condition":   "of an object, as Kubernetes has it; in route/match of a request",
	"Findings":    "of validation and of dialects; in resolve/effective a cache of answers",
	"Listener":    "Envoy's; in xds/server/limit one of package net with a bound",
	"Made":        "what weft wrote to a cluster; in control/webhook the age of the hooks",
	"Mesh":        "the document; in resolve the view that a stage has of one mesh",
	"MeshInsight": "Kuma's summary, and the document in which weft keeps identities",
	"Plan":        "what a change would change; in package store the function that says which writes",
	"Position":    "of a text; in package store how far a cluster was heard",
	"Stage":       "the collections of one stage of resolve",
	"Trust":       "the document; in control/webhook the authority of the hooks",
	"Writer":      "for whom is written; in store/kube/writing what writes to a cluster",
}

// banned are words of names that this project used for what the field calls otherwise
// (VOCABULARY.md), as words of exported names.
var banned = map[string]string{
	"Bare": "without a sidecar", "Census": "fleet counts", "Errand": "leader request", "Founding": "defaults", "Goods": "last good", "Guest": "ephemeral dataplane",
	"Judged": "route authorization", "Judges": "authorizes", "Keeping": "what is written", "Memo": "cache", "Remembered": "cache", "Signers": "authorities", "Spot": "placement",
	"Stir": "enqueue", "Stirred": "enqueued", "Stranger": "plaintext caller", "Strangers": "plaintext callers", "Turn": "rotate", "Turned": "rotated",
	"Turns": "fair queue", "Unheard": "restart gate", "Unmatched": "not applied",
}

// TestTypesHaveNamesOfTheirOwn holds that no exported name stands for two types. Aliases are
// another name of one type. Types of dialects and of kinds of policy are the form of their
// documents, whose names others have chosen: Rule, Match, Conf. Packages below cmd are parts of
// one command, which nothing else imports.
func TestTypesHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	homes := map[string][]string{}
	exportedNames(t, func(name string, id *ast.Ident, at ast.Node) {
		spec, ok := at.(*ast.TypeSpec)
		if ok && !spec.Assign.IsValid() && !anyPrefix(name, []string{"route/contour", "route/gateway", "route/kuma", "route/skipper", "policies/", "cmd/"}) && !slices.Contains(homes[id.Name], name) {
			homes[id.Name] = append(homes[id.Name], name)
		}
	})
	for name, all := range homes {
		if len(all) > 1 && repeated[name] == "" {
			t.Errorf("%s is a type of %s: give each a name that says what it is", name, strings.Join(all, ", "))
		}
	}
	for name := range repeated {
		if len(homes[name]) < 2 {
			t.Errorf("%s is a type of one package: take it out of repeated", name)
		}
	}
}

func TestNamesAreWordsOfTheField(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile(`[A-Z]+[a-z0-9]*`)
	exportedNames(t, func(name string, id *ast.Ident, _ ast.Node) {
		for _, word := range words.FindAllString(id.Name, -1) {
			if say := banned[word]; say != "" {
				t.Errorf("%s: %s: say %s", name, id.Name, say)
			}
		}
	})
}

// exportedNames calls each for the exported declarations of shipped packages that people write.
func exportedNames(t *testing.T, each func(name string, id *ast.Ident, at ast.Node)) {
	t.Helper()
	for _, p := range packages(t) {
		name, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours || isSupport(name) {
			continue
		}
		files, _ := handWritten(t, p)
		for _, file := range files {
			if ast.IsGenerated(file) || file.Name.Name == "main" {
				continue
			}
			for _, d := range file.Decls {
				declared(d, func(id *ast.Ident, at ast.Node) {
					if id.IsExported() {
						each(name, id, at)
					}
				})
			}
		}
	}
}

// declared calls each for the names that a declaration of a file makes: of types and their
// fields, functions, constants and variables.
func declared(d ast.Decl, each func(*ast.Ident, ast.Node)) {
	if f, ok := d.(*ast.FuncDecl); ok {
		each(f.Name, f)
		return
	}
	for _, s := range d.(*ast.GenDecl).Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			each(s.Name, s)
			ast.Inspect(s.Type, func(n ast.Node) bool {
				if f, ok := n.(*ast.Field); ok {
					for _, id := range f.Names {
						each(id, f)
					}
				}
				return true
			})
		case *ast.ValueSpec:
			for _, id := range s.Names {
				each(id, s)
			}
		}
	}
}
