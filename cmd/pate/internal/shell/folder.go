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

// FolderRun is a run with its state in a folder, so an interrupted run can resume.
type FolderRun[T any] struct {
	Id run.Identity
	// Out is the folder for the state and the results. If Out is empty, the folder is in the user's cache,
	// and its name begins with Kind. This folder is removed after the run.
	Out, Kind string
	// Data returns the hash of the data. Do calls Data after Run, unless --seed is given.
	Data func() [32]byte

	// Run computes the results. Write writes the results to the folder. Read reads the results of a complete
	// run.
	Read  func(dir string) (T, error)
	Run   func(run.Folder) (T, error)
	Write func(dir string, result T) error
	Print func(g *Globals, result T) error
}

// CommandLine returns the identity of a run. The argument `data` is the name or the paths of the data, and
// `held` contains further inputs.
func (g *Globals) CommandLine(kind, data, command string, held ...any) run.Identity {
	return run.Identity{Kind: kind, Command: command, Settings: struct {
		Data    string `json:"data"`
		Command string `json:"command"`
		Held    []any  `json:"held,omitempty"`
	}{data, command, held}}
}

// Fits checks the budget with `try` if the folder `out` contains no run. A run in the folder may be charged
// already.
func Fits(ctx context.Context, out string, try func(context.Context) error) error {
	begun, err := durable.Exists(results.Folder(out).Config())
	if err == nil && !begun {
		err = try(ctx)
	}
	return err
}

var outputs = []string{"out", "export", "plot", "private-dir", "parts"}

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

// CheckApart returns an error if an output path is an input or contains an input. It follows links.
func CheckApart(cmd *cobra.Command, topic string, written ...string) error {
	for _, input := range inputs(cmd) {
		for _, path := range written {
			if in, err := durable.Within(input, path); err == nil && in { // the later read reports the error
				return InputError(fmt.Errorf("%s is an input, and %s is where this command writes", input, path),
					"the file would be overwritten; nothing was written", "choose another place", topic)
			}
		}
	}
	return nil
}

// CheckFolder checks a results folder before anything is written or charged. CheckFolder refuses a folder
// that is an input. It refuses a folder if its subfolder public or private contains an input. If the folder
// has no run, it refuses files in these subfolders, because they may be past releases. A new ledger would
// lack the charges of these releases.
func CheckFolder(g *Globals, cmd *cobra.Command, dir string) error {
	const topic = "data"
	if is, err := os.Stat(dir); err == nil {
		if !is.IsDir() {
			return InputError(fmt.Errorf("--out %s is a file", dir), "--out must be a folder, because several files are written",
				"give the name of a folder", topic)
		}
		if err := durable.Exposed(dir, is); err != nil {
			g.Warn(fmt.Sprintf("%s %v: other users can remove the private half, or replace the public half", dir, err))
		}
	}
	folder := results.Folder(dir)
	if err := CheckApart(cmd, topic, folder.Public(), folder.Private()); err != nil {
		return err
	}
	for _, input := range inputs(cmd) {
		if same, err := durable.Same(input, dir); err == nil && same {
			return InputError(fmt.Errorf("--out %s is an input", dir), "the results would be read as data", "choose another folder", topic)
		}
	}
	err := folder.Vacant()
	if errors.Is(err, results.ErrReleased) {
		return FaultError(err, "ledger")
	}
	return FaultError(err, topic)
}

// Do starts or resumes the run. If the run is complete, Do prints the stored results.
func (r FolderRun[T]) Do(ctx context.Context, g *Globals) (result T, err error) {
	dir := r.Out
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return result, fmt.Errorf("no folder for what an interrupted run needs: %w; use --out", err)
		}
		dir = filepath.Join(cache, "pate", r.Kind+"-"+r.Id.Name())
	}
	folder, err := run.OpenFolder(ctx, dir, r.Id, g.Key)
	if err != nil {
		return result, err
	}
	defer folder.Close()
	show := func() error { return r.Print(g, result) }
	if folder.Finished {
		if err := folder.CheckMadeOf(r.Data(), "the run in "+dir); err != nil {
			return result, err
		}
		if result, err = r.Read(dir); err != nil {
			return result, err
		}
		g.Logf("this run is complete and its key is destroyed; the results follow")
		return result, PrintFolder(g, dir, show)
	}
	if result, err = r.Run(folder); err != nil {
		if ctx.Err() != nil {
			g.Logf("the unfinished run, with its secrets, is in %s", dir)
			if r.Out == "" {
				g.Logf("the same command resumes the run; to discard the run: rm -r %s", ShellWord(dir))
			}
		}
		return result, err
	}
	var data [32]byte
	if folder.Key.Releasable() {
		data = r.Data()
	}
	if r.Out != "" {
		if err := r.Write(dir, result); err != nil {
			return result, err
		}
		if err := folder.Finish(data); err != nil {
			return result, err
		}
		return result, PrintFolder(g, dir, show)
	}
	if err := show(); err != nil {
		return result, err
	}
	if err := folder.Finish(data); err != nil { // also overwrites the key
		return result, err
	}
	if err := os.RemoveAll(dir); err != nil {
		return result, fmt.Errorf("removing the finished run's secrets: %w", err)
	}
	return result, nil
}

// PrintFolder prints the results of a complete run, and describes the public and the private part of the
// folder.
func PrintFolder(g *Globals, dir string, print func() error) error {
	folder := results.Folder(dir)
	some, err := folder.Settle()
	if err != nil {
		return err
	}
	err = print()
	if some {
		g.Logf("%s: may be published as a whole", folder.Public())
	}
	kept := "keys, votes and charges"
	unreleased, _ := folder.Result(false)
	if there, err := durable.Exists(unreleased); err == nil && there {
		kept += "; results that must not be released are in " + unreleased
	}
	g.Logf("%s: keep private: %s", folder.Private(), kept)
	return err
}
