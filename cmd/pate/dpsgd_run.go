package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/recipe"
	"github.com/pate-go/pate/experiments"
)

// identity says what the run is a function of: the command line.
func (f *dpsgdFlags) identity(g *globals, command string) (experiments.Identity, error) {
	data, err := f.data.where()
	if err != nil {
		return experiments.Identity{}, err
	}
	id := experiments.Identity{
		Schema: "pate.dpsgd.run/1", Data: data, Split: f.data.split, Delta: g.delta, Seeds: f.seeds, Features: f.features,
		Methods: []string{command}, Quick: f.data.quick, Command: command,
	}
	if g.seeded {
		id.Seed = fmt.Sprint(g.seed)
	}
	return id, nil
}

// runIn trains in the run's folder and prints the result.
func (f *dpsgdFlags) runIn(ctx context.Context, g *globals, cfg recipe.Config, command string) error {
	id, err := f.identity(g, command)
	if err != nil {
		return err
	}
	dir, keep, err := home(f.out, "dpsgd-"+id.Name())
	if err != nil {
		return err
	}
	var result *recipe.Result
	return folderRun{
		id: id, dir: dir, keep: keep, data: cfg.Task.Hash(),
		read: func() error { result, err = readDPSGD(dir); return err },
		run: func(folder experiments.Folder) error {
			bar := newProgress(g)
			defer bar.clear()
			cfg.Key, cfg.Dir = folder.Key, folder.Path
			cfg.Progress = func(p recipe.Progress) {
				bar.note("")
				if p.Epsilon > 0 {
					bar.note(fmt.Sprintf("ε %.3g", p.Epsilon))
				}
				bar.update(p.Stage, p.Done, p.Total)
			}
			result, err = recipe.Run(ctx, cfg)
			return err
		},
		write: func() error {
			if err := writeDPSGD(dir, result); err != nil {
				return err
			}
			g.logf("results: %s\nmodels: %s", filepath.Join(dir, "results.json"), filepath.Join(dir, "models"))
			return nil
		},
		print: func() error { return printDPSGD(g, result) },
	}.do(ctx, g)
}

// dpsgdError adds what a person can do.
func dpsgdError(err error) error {
	var ce *commandError
	switch {
	case err == nil || errors.As(err, &ce):
		return err
	case errors.Is(err, recipe.ErrSpent):
		return &commandError{code: exitOverBudget, what: err, why: "what was charged to a ledger stays spent; nothing more was",
			fix: "name another ledger, and add up the two, or take features that learn nothing from private rows", topic: "privacy"}
	case errors.Is(err, recipe.ErrBudget):
		return &commandError{code: exitOverBudget, what: err, why: "no noise brings the whole within the budget; nothing was spent",
			fix: "raise --epsilon, or take features that learn nothing from private rows", topic: "privacy"}
	case errors.Is(err, ledger.ErrBudgetExceeded):
		return &commandError{code: exitOverBudget, what: err, why: "all of a training is charged before a private row is looked at; nothing was spent",
			fix: "leave --noise-multiplier out to have it chosen, add noise, or train fewer --steps", topic: "privacy"}
	case errors.Is(err, ledger.ErrSealed):
		return inputError(err, "the ledger was made in mode reserved: everything is charged before anything is released",
			"name another ledger; one of mode filter can be shared", "ledger")
	case errors.Is(err, recipe.ErrOtherRun), errors.Is(err, ledger.ErrOtherConfig):
		return inputError(err, "its key, charges and checkpoint belong to that run and those data", "choose another --out, or repeat that command", "dpsgd")
	case errors.Is(err, dpsgd.ErrCheckpoint):
		return &commandError{code: exitCheckFailed, what: err, why: "the training cannot go on from there; its charge stays",
			fix: "remove the checkpoint to train again from the start, to the same model at no further cost", topic: "dpsgd"}
	}
	return err
}
