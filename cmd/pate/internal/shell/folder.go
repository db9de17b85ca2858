package shell

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/results"
)

// FolderRun is a command that goes on where it stopped: what it needs for that is in
// a folder.
type FolderRun struct {
	Id  experiments.Identity
	Dir string
	// Keep is whether the folder stays when the run is done, with its results.
	Keep bool
	// Data returns the hash of the data. It is asked for before Run, if at all: of a seeded run,
	// whose key stays, nothing is kept to recognise them by.
	Data func() [32]byte

	// Read gets the results of a finished run, run makes and write keeps them in their places.
	Read  func() error
	Run   func(experiments.Folder) error
	Write func() error
	Print func() error
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

// Do runs, or goes on, or prints what was found before.
func (r FolderRun) Do(ctx context.Context, g *Globals) error {
	folder, err := experiments.OpenFolder(ctx, r.Dir, r.Id, func() (aggregate.Key, error) {
		if g.Seeded {
			return aggregate.SeedKey(g.Seed), nil
		}
		return aggregate.NewKey()
	})
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

// PrintFolder prints the results of a complete run whose folder stays, and says what each half of
// the folder is for.
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
