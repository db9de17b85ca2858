package dpsgd

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/run"
)

// runIn trains in the run's folder and prints the result.
func (f *dpsgdFlags) runIn(ctx context.Context, g *shell.Globals, cfg recipe.Config, command string) error {
	data, err := f.where()
	if err != nil {
		return err
	}
	id := g.CommandLine("dpsgd", data, command)
	dir, keep, err := shell.RunFolder(f.out, "dpsgd-"+id.Name())
	if err != nil {
		return err
	}
	var result *recipe.Result
	return shell.FolderRun{
		Id: id, Dir: dir, Keep: keep, Data: cfg.Task.Hash,
		Read: func() error { result, err = readDPSGD(dir); return err },
		Run: func(folder run.Folder) error {
			bar := shell.NewProgress(g)
			defer bar.Clear()
			cfg.Key, cfg.Dir = folder.Key, folder.Path
			cfg.Progress = func(p recipe.Progress) {
				bar.Note("")
				if p.Epsilon > 0 {
					bar.Note(fmt.Sprintf("ε %.3g", p.Epsilon))
				}
				bar.Update(p.Stage, p.Done, p.Total)
			}
			defer shell.SpareMemory(cfg.Task)()
			result, err = recipe.Run(ctx, cfg)
			return err
		},
		Write: func() error { return writeDPSGD(dir, result) },
		Print: func() error { return printDPSGD(g, result) },
	}.Do(ctx, g)
}
