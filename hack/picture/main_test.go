package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// TestThePictureIsFresh: the README shows what weft prints now.
func TestThePictureIsFresh(t *testing.T) {
	t.Parallel()
	text, err := screen("../../examples/shop")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/pictures/simulate.svg")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != svg(text) {
		t.Error("it is stale; run go generate ./hack/picture and look at it")
	}
}

// A picture is XML, and its text is that of the terminal.
func TestAPictureHoldsTheText(t *testing.T) {
	t.Parallel()
	picture := svg("\x1b[1m$ a <b> & \"c\"\x1b[0m\n\n  x = 1  \x1b[9;2mold\x1b[0m\n")
	var lines []string
	var line strings.Builder
	d := xml.NewDecoder(strings.NewReader(picture))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			if x.Name.Local == "text" {
				line.Reset()
			}
		case xml.CharData:
			line.Write(x)
		case xml.EndElement:
			if x.Name.Local == "text" {
				lines = append(lines, line.String())
			}
		}
	}
	if got, want := strings.Join(lines, "\n"), "$ a <b> & \"c\"\n  x = 1  old"; got != want {
		t.Errorf("it says\n%s\nand not\n%s", got, want)
	}
	if !strings.Contains(picture, `<tspan class="d s">old</tspan>`) || strings.Contains(picture, "\x1b") {
		t.Errorf("styles are lost:\n%s", picture)
	}
}
