package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/store/bolt"
)

func newStore(a *app) *cobra.Command {
	c := a.command(&cobra.Command{
		Use:     "store",
		Short:   "Look into the store of a control plane that does not run",
		Example: "  weft store check --data-dir weft-data\n  weft store export --data-dir weft-data > saved.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}, groupRun)
	c.AddCommand(newStoreCheck(a), newStoreExport(a), newStoreRekey(a))
	return c
}

func newStoreCheck(a *app) *cobra.Command {
	var dir string
	c := a.command(&cobra.Command{
		Use:   "check",
		Short: "Say what is damaged in a store, and change nothing",
		Long: `Reads every record of the store and compares it with its checksum, and the
store's revision with the last one that was acknowledged. Exit status 1 if
anything is wrong.`,
		Example: "  weft store check --data-dir weft-data",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := a.checkOutput(); err != nil {
				return err
			}
			path := filepath.Join(dir, bolt.FileName)
			found, err := bolt.Check(path)
			if err != nil {
				return fmt.Errorf("check the store %s: %w", path, err)
			}
			if err := a.print(found, func(w io.Writer) error { return findings(w, path, found) }); err != nil {
				return err
			}
			if !found.Sound() {
				return fmt.Errorf("the store %s is damaged; save what is whole with `weft store export --data-dir %s > saved.yaml`, move the directory away, start anew and `weft apply -f saved.yaml`", path, dir)
			}
			return nil
		},
	}, "")
	dataDirFlag(c, &dir)
	a.outputFlag(c)
	return c
}

func findings(w io.Writer, path string, f bolt.CheckReport) error {
	return columns(w, [][]string{
		{"store", path},
		{"revision", fmt.Sprintf("%d (acknowledged: %d)", f.Revision, f.Recorded)},
		{"records", fmt.Sprintf("%d, %d damaged, %d missing", f.Records, f.Damaged, f.Missing)},
		{"structure", map[bool]string{true: "whole", false: f.Structure}[f.Structure == ""]},
	})
}

func newStoreExport(a *app) *cobra.Command {
	var dir, file string
	c := a.command(&cobra.Command{
		Use:     "export",
		Short:   "Write every document that is whole as a stream that `weft apply` reads",
		Example: "  weft store export --data-dir weft-data > saved.yaml\n  weft store export --data-dir weft-data --to saved.yaml",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			path := filepath.Join(dir, bolt.FileName)
			saved, secrets := 0, 0
			export := func(out io.Writer) (err error) {
				if saved, secrets, err = bolt.Export(path, out); err != nil {
					return fmt.Errorf("export the store %s: %w", path, err)
				}
				return nil
			}
			write := func() error { return export(a.out) }
			if file != "" {
				write = func() error { return saveTo(file, export) }
			}
			if err := write(); err != nil {
				return err
			}
			fmt.Fprintf(a.err, "%s saved\n", many(saved, "document"))
			if secrets > 0 {
				fmt.Fprintf(a.err, "%s left out, for what they hold is sealed; apply them again from where they came\n", many(secrets, "Secret"))
			}
			return nil
		},
	}, "")
	dataDirFlag(c, &dir)
	c.Flags().StringVar(&file, "to", "", "file to write; standard output without it")
	return c
}

// saveTo writes a new file, and says that it did only where all of it is on the
// disk: it may be the last copy of what it saves. Of a failure nothing is left.
func saveTo(file string, write func(io.Writer) error) error {
	var failed error // of what is saved, not of the file
	err := files.CreateFrom(file, files.Private, func(to io.Writer) error {
		failed = write(to)
		return failed
	})
	if err != nil && failed == nil {
		return fmt.Errorf("--to: %w", err)
	}
	return err
}

func dataDirFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "data-dir", control.Default().DataDir, "data directory of the control plane")
}

func newStoreRekey(a *app) *cobra.Command {
	config := control.Default()
	c := a.command(&cobra.Command{
		Use:   "rekey",
		Short: "Seal the Secrets of a store with a new key",
		Long: `Makes a new key for the Secrets of a store whose control plane does not run, seals all of
them with it, those of the history too, and forgets the former key. Stopped in between
it leaves both keys in the file, and another call goes on. Backups of the store need
the key of their time.`,
		Example: "  weft store rekey --data-dir weft-data",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			n, err := control.Rekey(config)
			if err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%s sealed with a new key\n", many(n, "Secret"))
			return nil
		},
	}, "")
	dataDirFlag(c, &config.DataDir)
	c.Flags().StringVar(&config.SecretsKeyFile, "secrets-key-file", "", "file with the key (default: secrets-key in the data directory)")
	return c
}
