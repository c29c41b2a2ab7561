package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
)

// Item is one object as the API shows it, with what tables need of it.
type Item struct {
	Type      string            `json:"type"`
	Mesh      string            `json:"mesh"`
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels"`
	Created   time.Time         `json:"creationTime"`
	// Raw is the whole object as it came.
	Raw json.RawMessage `json:"-"`
}

// Ref names the object. Objects of several namespaces may share all else.
func (i Item) Ref() api.Ref {
	return api.Ref{Kind: i.Type, Mesh: i.Mesh, Namespace: i.Namespace, Name: i.Name}
}

// UnmarshalJSON keeps the text beside what it reads of it. Name is the name inside
// the namespace, which the API shows as <name>.<namespace>.
func (i *Item) UnmarshalJSON(text []byte) error {
	type fields Item
	var kubernetes struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Namespace string            `json:"namespace"`
			Name      string            `json:"name"`
			Labels    map[string]string `json:"labels"`
			Created   time.Time         `json:"creationTimestamp"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(text, &kubernetes); err != nil {
		return err
	}
	if m := kubernetes.Metadata; m.Name != "" { // what has no form of Kuma's
		*i = Item{Type: kubernetes.Kind, Mesh: cmp.Or(m.Labels[api.LabelMesh], api.DefaultMesh), Namespace: m.Namespace, Name: m.Name, Labels: m.Labels, Created: m.Created, Raw: bytes.Clone(text)}
		return nil
	}
	if err := json.Unmarshal(text, (*fields)(i)); err != nil {
		return err
	}
	if own := i.Labels[api.LabelDisplayName]; i.Namespace != "" && i.Name == own+"."+i.Namespace {
		i.Name = own
	}
	i.Raw = append(json.RawMessage(nil), text...)
	return nil
}

// MarshalJSON is the object as it came.
func (i Item) MarshalJSON() ([]byte, error) { return i.Raw, nil }

// One gets a single object.
func (c *Client) One(ctx context.Context, path string) (Item, error) {
	var item Item
	err := c.Get(ctx, path, &item)
	return item, err
}

// List gets every page of a list; path may have a query.
func (c *Client) List(ctx context.Context, path string) ([]Item, error) {
	const size = 1000
	mark := "?"
	if strings.Contains(path, "?") {
		mark = "&"
	}
	all := []Item{}
	for {
		var page struct {
			Total int
			Items []Item
		}
		if err := c.Get(ctx, fmt.Sprintf("%s%ssize=%d&offset=%d", path, mark, size, len(all)), &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if len(page.Items) == 0 || len(all) >= page.Total {
			return all, nil
		}
	}
}
