package web

import (
	"bytes"
	"encoding/json"
	"strconv"
	"sync"
)

// paged is a page of a list.
type paged[T any] struct {
	Total int      `json:"total"` // of all pages
	Items []T      `json:"items"`
	Next  *string  `json:"next"`            // the address of the page that follows
	Notes []string `json:"notes,omitempty"` // of what the list is without
}

// printedPage is paged of items that are printed, with commas between them.
type printedPage struct {
	total, count int
	items        *bytes.Buffer
	next         *string
	notes        []string
}

// itemsOfPages have room for the items of a page, which may be megabytes.
var itemsOfPages = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// add is what encoding/json prints of v, as the next item.
func (p *printedPage) add(v any) error {
	p.begin()
	if err := json.NewEncoder(p.items).Encode(v); err != nil {
		return err
	}
	p.items.Truncate(p.items.Len() - len("\n"))
	return nil
}

// text is an item that is printed, unless that failed.
func (p *printedPage) text(item []byte, err error) error {
	if err == nil {
		p.begin()
		p.items.Write(item)
	}
	return err
}

// begin counts an item, which is written next.
func (p *printedPage) begin() {
	if p.count > 0 {
		p.items.WriteByte(',')
	}
	p.count++
}

// AppendJSON prints it as paged.
func (p *printedPage) AppendJSON(to []byte) ([]byte, error) {
	to = strconv.AppendInt(append(to, `{"total":`...), int64(p.total), 10)
	to = append(append(append(to, `,"items":[`...), p.items.Bytes()...), ']')
	rest, err := json.Marshal(struct {
		Next  *string  `json:"next"`
		Notes []string `json:"notes,omitempty"`
	}{p.next, p.notes})
	return append(append(to, ','), rest[1:]...), err
}
