package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/experiments"
)

// folderRun is a command that goes on where it stopped: what it needs for that is in
// a folder.
type folderRun struct {
	id  experiments.Identity
	dir string
	// keep is whether the folder stays when the run is done, with its results.
	keep bool
	data [32]byte // hash of the data

	// read gets the results of a finished run, run makes and write keeps them.
	read  func() error
	run   func(experiments.Folder) error
	write func() error
	print func() error
}

// home is where a run lives: out, or a folder of this name in the user's cache that is
// removed when the run is done.
func home(out, name string) (dir string, keep bool, err error) {
	if out != "" {
		return out, true, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", false, fmt.Errorf("no folder for what an interrupted run needs: %w; use --out", err)
	}
	return filepath.Join(cache, "pate", name), false, nil
}

// do runs, or goes on, or prints what was found before.
func (r folderRun) do(ctx context.Context, g *globals) error {
	folder, err := experiments.OpenFolder(ctx, r.dir, r.id, func() (aggregate.Key, error) {
		if g.seeded {
			return aggregate.SeedKey(g.seed), nil
		}
		return aggregate.NewKey()
	})
	if err != nil {
		return err
	}
	defer folder.Close()
	if folder.Finished {
		switch same, err := folder.MadeOf(r.data); {
		case err != nil:
			return err
		case !same:
			return fmt.Errorf("%w: the run in %s is complete, and the data have changed since", experiments.ErrOtherRun, r.dir)
		}
		if err := r.read(); err != nil {
			return err
		}
		g.logf("this run is complete and its key destroyed; its results, from %s, are", filepath.Join(r.dir, "results.json"))
		return r.print()
	}
	if err := r.run(folder); err != nil {
		if ctx.Err() != nil {
			g.logf("what is done so far, secrets included, is in %s", r.dir)
		}
		return err
	}
	if r.keep {
		if err := r.write(); err != nil {
			return err
		}
		if err := folder.Finish(r.data); err != nil {
			return err
		}
		return r.print()
	}
	if err := r.print(); err != nil {
		return err
	}
	if err := folder.Finish(r.data); err != nil { // overwrites the key
		return err
	}
	if err := os.RemoveAll(r.dir); err != nil {
		return fmt.Errorf("removing the finished run's secrets: %w", err)
	}
	return nil
}
