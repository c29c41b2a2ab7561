package httpapi

import (
	"bytes"
	"encoding/json"
	"strconv"
	"sync"
)

// Page is a page of a list.
type Page[T any] struct {
	Total int      `json:"total"` // of all pages
	Items []T      `json:"items"`
	Next  *string  `json:"next"`            // the address of the page that follows
	Notes []string `json:"notes,omitempty"` // of what the list is without
}

// PrintedPage is paged of items that are printed, with commas between them.
type PrintedPage struct {
	Total, Count int
	Next         *string
	Notes        []string
	items        *bytes.Buffer
}

// itemsOfPages have room for the items of a page, which may be megabytes.
var itemsOfPages = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// NewPage has no items yet; Done has to follow.
func NewPage() *PrintedPage {
	p := &PrintedPage{items: itemsOfPages.Get().(*bytes.Buffer)}
	p.items.Reset()
	return p
}

// Done gives its room back, when it is written.
func (p *PrintedPage) Done() { itemsOfPages.Put(p.items) }

// Add is what encoding/json prints of v, as the next item.
func (p *PrintedPage) Add(v any) error {
	p.begin()
	if err := json.NewEncoder(p.items).Encode(v); err != nil {
		return err
	}
	p.items.Truncate(p.items.Len() - len("\n"))
	return nil
}

// AddText is an item that is printed, unless that failed.
func (p *PrintedPage) AddText(item []byte, err error) error {
	if err == nil {
		p.begin()
		p.items.Write(item)
	}
	return err
}

// begin counts an item, which is written next.
func (p *PrintedPage) begin() {
	if p.Count > 0 {
		p.items.WriteByte(',')
	}
	p.Count++
}

// AppendJSON prints it as paged.
func (p *PrintedPage) AppendJSON(to []byte) ([]byte, error) {
	to = strconv.AppendInt(append(to, `{"total":`...), int64(p.Total), 10)
	to = append(append(append(to, `,"items":[`...), p.items.Bytes()...), ']')
	rest, err := json.Marshal(struct {
		Next  *string  `json:"next"`
		Notes []string `json:"notes,omitempty"`
	}{p.Next, p.Notes})
	return append(append(to, ','), rest[1:]...), err
}
