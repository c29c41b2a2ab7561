package decode_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
)

// What is said of a text goes to logs and to everybody who may ask. Of one that
// holds no documents, and of material, it tells nothing: not a character.
func TestFindingsDoNotQuoteSecrets(t *testing.T) {
	t.Parallel()
	const service = "type: MeshExternalService\nmesh: default\nname: a\nspec:\n  match: {type: HostnameGenerator, port: 443}\n" +
		"  endpoints: [{address: a.example, port: 443}]\n  tls: {enabled: true, verification: {clientCert: {inlineString: c}, clientKey: "
	for name, text := range map[string]string{
		"a token":               "q7Xq7X\n",
		"a number":              "77777777",
		"a truth":               "true",
		"a key file":            "-----BEGIN PRIVATE KEY-----\nq7Xq7X\n-----END PRIVATE KEY-----\n",
		"passwords":             "root:q7X:0:0::/root:/bin/sh\nq7X:x:1:1::/:/bin/sh\n",
		"settings":              "q7X=q7X\nq7X=q7X\n",
		"sections":              "[q7X]\nq7X=q7X\n",
		"quoted":                `"q7Xq7X"`,
		"an end too early":      `{"q7X": "q7X`,
		"a wrong word of JSON":  `{"a": q7X}`,
		"a list":                "- q7X\n- [q7X]\n",
		"an alias":              "*q7X",
		"an alias of a field":   "type: *q7X",
		"an anchor":             "&q7X q7X",
		"a tag":                 "!q7X q7X",
		"a broken tag":          "!<q7X q7X",
		"a directive":           "%q7X\n---\nq7X",
		"a broken quote":        "'q7X",
		"an escape":             `"\q7X"`,
		"a block":               "|q7X\n q7X",
		"a broken map":          "q7X: q7X: q7X",
		"a map":                 "q7X: q7X\npassword: q7X\n",
		"a Secret":              "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {tls.key: q7X}\n",
		"a Secret in plain":     "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ntype: kubernetes.io/tls\nstringData: {tls.key: q7X, tls.crt: q7X}\n",
		"a Secret as a list":    "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: [q7X]\nstringData: q7X\ntype: {q7X: q7X}\nimmutable: q7X\n",
		"a secret as a number":  service + "{inlineString: 77777777}}}\n",
		"a secret as the whole": service + "q7X}}\n",
		"a secret as a list":    service + "[q7X]}}\n",
		"a secret in a map":     service + "{inline: {q7X: q7X}}}}\n",
		"a secret in a block":   service + "{type: InsecureInline, insecureInline: {value: [q7X]}}}}\n",
		"a block of no type":    service + "{type: Secret, insecureInline: {value: q7X}}}}\n",
	} {
		_, err := decode.Objects(catalog, "a.yaml", []byte(text))
		found := api.Violations(err)
		if len(found) == 0 {
			t.Errorf("%s: nothing is wrong", name)
		}
		for _, v := range found {
			if said := v.Error() + v.Object.String(); strings.Contains(said, "q7X") || strings.Contains(said, "'q'") || strings.Contains(said, "77777") {
				t.Errorf("%s: %s", name, said)
			}
		}
	}
}
