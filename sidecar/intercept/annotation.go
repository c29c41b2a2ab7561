package intercept

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Annotation is the value of InterceptionAnnotation that says what c says.
func (c *Config) Annotation() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // numbers, addresses and words alone
	}
	return string(text)
}

// ParseAnnotation reads what Annotation writes. A key that it does not know is refused: a
// pod of a newer weft may ask for what this one cannot do, and would run half redirected.
func ParseAnnotation(text string) (Config, error) {
	c := Default()
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return Config{}, fmt.Errorf("annotation %s: %w", InterceptionAnnotation, err)
	}
	if d.More() {
		return Config{}, fmt.Errorf("annotation %s: it goes on after its end", InterceptionAnnotation)
	}
	servers, err := ParseAddrs(joined(c.DNSServers, ","))
	if err != nil {
		return Config{}, fmt.Errorf("annotation %s: %w", InterceptionAnnotation, err)
	}
	c.DNSServers = servers
	return c, c.Validate()
}
