package main

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/cmd/internal/sidecarcmd"
)

// program is what the commands of a sidecar need of this program.
func (a *app) program() sidecarcmd.Program {
	return sidecarcmd.Program{Version: thisBuild().Version, Documents: func(file string) ([]*api.Object, error) {
		reading, err := a.readSound([]string{file}, false)
		if err != nil {
			return nil, err
		}
		a.warn(reading)
		return reading.Objects, nil
	}}
}
