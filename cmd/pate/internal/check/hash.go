package check

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/teachers/manifest"
)

type hashIDsFlags struct {
	salt, silo, unit, out string
	newSalt               bool
	teachers, classes     int
}

func newHashIDsCommand(g *shell.Globals) *cobra.Command {
	var f hashIDsFlags
	cmd := &cobra.Command{
		Use:  "hash-ids [IDS]",
		Args: shell.Wants(cobra.MaximumNArgs(1), f.missing),
		RunE: func(cmd *cobra.Command, args []string) error { return runHashIDs(cmd, g, f, args) },
	}
	shell.Declare(cmd.Flags(), "hash-ids", shell.To{"salt": &f.salt, "new-salt": &f.newSalt, "silo": &f.silo, "unit": &f.unit,
		"teachers": &f.teachers, "classes": &f.classes, "out": &f.out})
	shell.CompleteArgs(cmd, shell.Files("txt", "csv"))
	shell.Without(cmd, "seed", "delta", "format")
	return cmd
}

// missing lists what a manifest, or a new salt, cannot be made without.
func (f *hashIDsFlags) missing(cmd *cobra.Command, args []string) []string {
	missing := shell.Unset(cmd, "salt")
	if len(args) == 0 && !f.newSalt {
		missing = append(missing, "IDS (or --new-salt)")
	}
	if !f.newSalt || len(args) > 0 {
		missing = append(missing, shell.Unset(cmd, "silo")...)
	}
	return missing
}

func runHashIDs(cmd *cobra.Command, g *shell.Globals, f hashIDsFlags, args []string) error {
	out := shell.Target{Flag: "--out", Path: f.out, Topic: "votes"}
	if f.out != "" {
		if err := cmp.Or(out.CheckDistinct("the salt", f.salt), out.CheckDistinct("the file of ids", args...), out.CheckWritable()); err != nil {
			return err
		}
	}
	salt, err := f.openSalt(g)
	if err != nil || len(args) == 0 {
		return err
	}
	in, err := shell.OpenInput(cmd, args[0])
	if err != nil {
		return shell.InputError(err, "", "", "votes")
	}
	defer in.Close()
	silo, err := manifest.HashIDs(in, f.silo, salt)
	if err != nil {
		return shell.InputError(fmt.Errorf("%s: %w", args[0], err), "ids stand one a line", "", "votes")
	}
	write := func(w io.Writer) error {
		return manifest.Write(w, manifest.Head{Unit: f.unit, SaltID: salt.ID(), Teachers: f.teachers, Classes: f.classes}, silo)
	}
	if f.out == "" {
		err = write(g.Stdout)
	} else {
		err = out.Write(0o600, write)
	}
	if err != nil {
		return err
	}
	g.Logf("%d units of silo %s", len(silo.Hashes), f.silo)
	return nil
}

func (f hashIDsFlags) openSalt(g *shell.Globals) (manifest.Salt, error) {
	if !f.newSalt {
		return readSalt(f.salt)
	}
	if _, err := os.Lstat(f.salt); !errors.Is(err, fs.ErrNotExist) {
		return manifest.Salt{}, shell.InputError(fmt.Errorf("--new-salt: %s exists", f.salt),
			"manifests made with it could no longer be compared", "choose another file, or leave out --new-salt", "votes")
	}
	salt, err := manifest.NewSalt()
	if err != nil {
		return salt, err
	}
	text, err := salt.MarshalText()
	if err != nil {
		return salt, err
	}
	if err := durable.WriteBytes(f.salt, 0o600, append(text, '\n')); err != nil {
		return salt, err
	}
	g.Logf("%s holds a new salt: hand it to the silos and nobody else", f.salt)
	return salt, nil
}

func readSalt(path string) (manifest.Salt, error) {
	var salt manifest.Salt
	file, err := durable.OpenRegular(path)
	if err == nil {
		defer file.Close()
		var text []byte
		if text, err = io.ReadAll(io.LimitReader(file, 1<<12)); err == nil {
			err = salt.UnmarshalText(text)
		}
	}
	if err != nil {
		return salt, shell.InputError(fmt.Errorf("--salt %s: %w", path, err), "all silos hash with one salt",
			"get the file from whoever made it, or make one with --new-salt", "votes")
	}
	return salt, nil
}
