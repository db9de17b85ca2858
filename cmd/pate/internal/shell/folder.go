package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/run"
)

// FolderRun is a command that resumes: its state is in a folder.
type FolderRun struct {
	Id  run.Identity
	Dir string
	// Keep is whether the folder stays when the run is done, with its results.
	Keep bool
	// Data returns the hash of the data. It is asked for before Run, if at all: of a seeded run,
	// whose key stays, nothing is kept to recognise them by.
	Data func() [32]byte

	// Read gets the results of a finished run, run makes and write keeps them in their places.
	Read  func() error
	Run   func(run.Folder) error
	Write func() error
	Print func() error
}

// CommandLine returns the identity of a run that is a function of where its data are, of the
// command line that repeats it, and of what files hold that the command line names.
func (g *Globals) CommandLine(kind, data, command string, held ...any) run.Identity {
	return run.Identity{Kind: kind, Command: command, Settings: struct {
		Data    string `json:"data"`
		Command string `json:"command"`
		Held    []any  `json:"held,omitempty"`
	}{data, command, held}}
}

// RunFolder returns where a run lives: out, or a folder of this name in the user's cache that is
// removed when the run is done.
func RunFolder(out, name string) (dir string, keep bool, err error) {
	if out != "" {
		return out, true, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", false, fmt.Errorf("no folder for what an interrupted run needs: %w; use --out", err)
	}
	return filepath.Join(cache, "pate", name), false, nil
}

// outputs are the flags of files and folders that commands write.
var outputs = []string{"out", "export", "plot", "private-dir", "parts"}

// inputs returns what a command may read: its arguments, the data and the ledger, and every other
// flag that has the name of a file. A flag that a command gets later is among them.
func inputs(cmd *cobra.Command) []string {
	all := slices.Clone(cmd.Flags().Args())
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if slices.Contains(outputs, flag.Name) {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, path := range values {
			is, err := os.Stat(path)
			if err == nil && is.Mode().IsRegular() || slices.Contains([]string{"data", "public", "ledger"}, flag.Name) {
				all = append(all, path)
			}
		}
	})
	return all
}

// CheckApart refuses to write over an input, or a folder with an input inside, by whatever name or link.
func CheckApart(cmd *cobra.Command, topic string, written ...string) error {
	for _, input := range inputs(cmd) {
		for _, path := range written {
			if in, err := durable.Within(input, path); err == nil && in { // what cannot be read is refused where it is read
				return InputError(fmt.Errorf("%s is an input, and %s is where this command writes", input, path),
					"it would be overwritten; nothing was written", "name another place", topic)
			}
		}
	}
	return nil
}

// CheckFolder looks at a folder of results before anything is made or charged. It refuses a folder that is an
// input or has one in either half, by whatever name or link, and halves with files of no run there. Where
// such files were released and the run is gone, a second release would be a second budget that no ledger adds
// to the first.
func CheckFolder(g *Globals, cmd *cobra.Command, dir string) error {
	const topic = "data"
	if is, err := os.Stat(dir); err == nil {
		if !is.IsDir() {
			return InputError(fmt.Errorf("--out %s is a file", dir), "it is a folder of several files", "name a folder", topic)
		}
		if err := durable.Exposed(dir, is); err != nil {
			g.Warn(fmt.Sprintf("%s %v: they can take its private half away, or put something else in place of what is published", dir, err))
		}
	}
	folder := results.Folder(dir)
	if err := CheckApart(cmd, topic, folder.Public(), folder.Private()); err != nil {
		return err
	}
	for _, input := range inputs(cmd) {
		if same, err := durable.Same(input, dir); err == nil && same {
			return InputError(fmt.Errorf("--out %s is an input", dir), "what is written there would be read as data", "name another folder", topic)
		}
	}
	err := folder.Vacant()
	if errors.Is(err, results.ErrReleased) {
		return FaultError(err, "ledger")
	}
	return FaultError(err, topic)
}

// Do runs, resumes, or prints the earlier result.
func (r FolderRun) Do(ctx context.Context, g *Globals) error {
	folder, err := run.OpenFolder(ctx, r.Dir, r.Id, g.Key)
	if err != nil {
		return err
	}
	defer folder.Close()
	var data [32]byte
	if folder.Finished || folder.Key.Releasable() {
		data = r.Data()
	}
	if folder.Finished {
		if err := folder.CheckMadeOf(data, "the run in "+r.Dir); err != nil {
			return err
		}
		if err := r.Read(); err != nil {
			return err
		}
		g.Logf("this run is complete and its key destroyed; its results are")
		return PrintFolder(g, r.Dir, r.Print)
	}
	if err := r.Run(folder); err != nil {
		if ctx.Err() != nil {
			g.Logf("what is done so far, secrets included, is in %s", r.Dir)
			if !r.Keep {
				g.Logf("the same command goes on; to throw it away instead: rm -r %s", ShellWord(r.Dir))
			}
		}
		return err
	}
	if r.Keep {
		if err := r.Write(); err != nil {
			return err
		}
		if err := folder.Finish(data); err != nil {
			return err
		}
		return PrintFolder(g, r.Dir, r.Print)
	}
	if err := r.Print(); err != nil {
		return err
	}
	if err := folder.Finish(data); err != nil { // overwrites the key
		return err
	}
	if err := os.RemoveAll(r.Dir); err != nil {
		return fmt.Errorf("removing the finished run's secrets: %w", err)
	}
	return nil
}

// PrintFolder prints the results of a complete run whose folder stays, and describes both halves of the
// folder.
func PrintFolder(g *Globals, dir string, print func() error) error {
	folder := results.Folder(dir)
	some, err := folder.Settle()
	if err != nil {
		return err
	}
	err = print()
	if some {
		g.Logf("%s: may be published, whole as it is", folder.Public())
	}
	kept := "keys, votes, what was charged"
	unreleased, _ := folder.Result(false)
	if there, err := durable.Exists(unreleased); err == nil && there {
		kept += "; what is not releasable is in " + unreleased
	}
	g.Logf("%s: keep it to yourself: %s", folder.Private(), kept)
	return err
}
