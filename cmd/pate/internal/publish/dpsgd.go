package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/ledger/release"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd/recipe"
	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/student/published"
)

// training says how a private model was trained. All of it is public.
type training struct {
	Records     int     `json:"records"` // as declared
	RowsPerUnit int     `json:"rows_per_unit"`
	Features    string  `json:"features"`
	Steps       int     `json:"steps"`
	Probability float64 `json:"sampling_probability"`
	Noise       float64 `json:"noise_multiplier"`
	ClipNorm    float64 `json:"clip_norm"`
}

// modelKind is what the published model says of itself.
const modelKind = "logistic regression, trained by DP-SGD"

// publishModel carries out all steps of one private model. An earlier run leaves the key and
// the state of the training; once the model is whole the key is destroyed, and everything
// else is a function of the model and of public rows.
func (j *job) publishModel(ctx context.Context, private string) (*report, error) {
	task, schema, pool, err := shell.PrivateTask(j.g, &j.flags.PairFlags, private, false)
	if err != nil {
		return nil, err
	}
	cfg := recipe.Config{Task: task, Delta: j.g.Delta, Unit: j.flags.UnitWord(), RowsPerUnit: j.flags.rows, Records: j.flags.size, Rows: schema,
		Cache: shell.FeatureCache(j.say)}
	plan := recipe.Plan{Recipe: recipe.Default(cfg.Shape(), "", "", j.flags.epsilon)}
	cfg.Plans = []recipe.Plan{plan}
	fresh := false
	if cfg.Shared, fresh, err = j.account(cfg.Unit); err != nil {
		return nil, err
	}
	if err := cfg.Validate(); err != nil {
		return nil, shell.UsageError("dpsgd", err)
	}
	shell.SayRecords(j.g, cfg)
	if task.Grouped {
		shell.SayRows(j.g, cfg)
	}
	if begun, err := durable.Exists(results.Folder(j.Private("model")).Private("config.json")); err != nil {
		return nil, err
	} else if !begun {
		if err := cfg.TryLedger(ctx, fresh); err != nil {
			return nil, err
		}
	}
	folder, err := j.openFolder(ctx, "model", private, fmt.Sprintf("--method dpsgd --size %d --rows-per-unit %d", j.flags.size, j.flags.rows))
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	r, err := j.trained(ctx, cfg, folder)
	if err != nil {
		return nil, err
	}
	r.Public, r.Classes, r.Training.Features = pool.Len(), schema.Classes, plan.Recipe.Features
	if err := j.answer(ctx, pool, r); err != nil {
		return nil, err
	}
	if err := j.statement(studentFile); err != nil {
		return nil, err
	}
	if err := j.report(r, labelsFile, studentFile, statementFile, ledgerFile); err != nil {
		return nil, err
	}
	if err := folder.Finish(task.Hash()); err != nil {
		return nil, err
	}
	if j.flags.destroy && folder.Finished {
		return r, os.RemoveAll(results.Folder(folder.Path).Private(modelName))
	}
	return r, nil
}

// modelName is what package recipe calls the only model of a shared ledger.
const modelName = "left-run-0"

// account returns the ledger, which one model is to fill.
func (j *job) account(unit string) (*recipe.Shared, bool, error) {
	made := ledger.Config{Unit: unit, Relation: accountant.AddRemove, Epsilon: j.flags.epsilon, Delta: j.g.Delta, Mode: ledger.Reserved, Noise: j.g.Noise()}
	file := release.File{Path: j.Private(ledgerFile), New: made, Warn: j.g.Warn,
		Expect: release.Expect{Relation: made.Relation, Unit: made.Unit, Epsilon: made.Epsilon, Delta: made.Delta, Mode: &made.Mode}}
	account, fresh, err := shell.LedgerConfig(file)
	return &recipe.Shared{File: file, Account: account}, fresh, err
}

// openFolder opens a folder of the key of a run, which the flags beside those of rows and budget
// name.
func (j *job) openFolder(ctx context.Context, name, private, flags string) (experiments.Folder, error) {
	data, err := filepath.Abs(private)
	if err != nil {
		return experiments.Folder{}, err
	}
	words := append([]string{"pate publish", shell.ShellWord(private)}, j.flags.Words()...)
	words = append(words, flags, fmt.Sprintf("--epsilon %g --delta %g", j.flags.epsilon, j.g.Delta))
	id := experiments.Identity{Schema: "pate.publish.run/1", Data: data, Epsilon: j.flags.epsilon, Delta: j.g.Delta, Command: strings.Join(words, " ")}
	id.Methods = []string{id.Command}
	if j.g.Seeded {
		id.Seed = fmt.Sprint(j.g.Seed)
	}
	return experiments.OpenFolder(ctx, j.Private(name), id, func() (aggregate.Key, error) {
		if j.g.Seeded {
			return aggregate.SeedKey(j.g.Seed), nil
		}
		return aggregate.NewKey()
	})
}

// trained trains the model, unless that was done, and puts it into its place.
func (j *job) trained(ctx context.Context, cfg recipe.Config, folder experiments.Folder) (*report, error) {
	if folder.Finished {
		if err := folder.CheckMadeOf(cfg.Task.Hash(), "the model in "+j.flags.out); err != nil {
			return nil, err
		}
		j.say("this model is complete; nothing was trained")
	} else {
		cfg.Key, cfg.Dir, cfg.Format = folder.Key, folder.Path, formatFor(cfg)
		cfg.Progress = func(p recipe.Progress) { j.bar.Update(p.Stage, p.Done, p.Total) }
		defer shell.SpareMemory(cfg.Task)()
		result, err := recipe.Run(ctx, cfg)
		if err != nil {
			return nil, err
		}
		j.say(fmt.Sprintf("model: %d steps, noise %.4g times the clip norm", result.Rows[0].Steps, result.Rows[0].Noise))
	}
	made, _ := results.Folder(folder.Path).Result(j.releasable(), "models", modelName+".model")
	file, err := os.ReadFile(made)
	if err != nil {
		return nil, err
	}
	if err := j.write(studentFile, file); err != nil {
		return nil, err
	}
	m, err := published.Open(j.result(studentFile))
	if err != nil {
		return nil, err
	}
	p := m.Labels
	noise, err := noiseOf(j.Private(ledgerFile))
	if err != nil {
		return nil, err
	}
	train := cfg.Plans[0].Recipe.Train
	return &report{Schema: schemaPublish, Method: methodDPSGD, Unit: p.Unit, Student: m.Card.String(), Entry: p.Entry, Epsilon: p.Epsilon, Delta: p.Delta, Releasable: p.Releasable,
		Training: &training{Records: cfg.Shape().Records, RowsPerUnit: j.flags.rows, Steps: train.Steps, Probability: train.SamplingProbability, Noise: noise, ClipNorm: train.ClipNorm}}, nil
}

// noiseOf returns the noise multiplier of the training that a ledger was charged for.
func noiseOf(path string) (noise float64, err error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	_, err = ledger.Verify(f, func(e ledger.Entry) error {
		if steps, ok := e.Event.(accountant.Repeated); ok {
			if sampled, ok := steps.Event.(accountant.PoissonSampled); ok {
				if g, ok := sampled.Event.(accountant.Gaussian); ok {
					noise = g.NoiseMultiplier
				}
			}
		}
		return nil
	})
	return noise, err
}

// formatFor returns what writes a model as it is published. The ledger commits to its bytes.
func formatFor(cfg recipe.Config) func(*recipe.Model, recipe.Paid) ([]byte, error) {
	return func(m *recipe.Model, paid recipe.Paid) ([]byte, error) {
		model, ok := m.Plain()
		if !ok {
			return nil, errors.New("publish: the model is not linear")
		}
		p := published.Private{Schema: cfg.Rows, Kind: modelKind, Features: m.Features, Model: model, Provenance: published.Provenance{
			Ledger: ledgerFile, Entry: paid.Entry, Epsilon: paid.Epsilon, Delta: paid.Delta, Unit: cfg.Unit, Relation: cfg.Shared.Account.Relation.String(), Releasable: m.Releasable}}
		if t := m.Transform(); t != nil {
			text, err := t.MarshalBinary()
			if err != nil {
				return nil, err
			}
			p.Transform, p.Settings = text, m.Features
		}
		whole, err := published.OfPrivate(p)
		if err != nil {
			return nil, err
		}
		return whole.MarshalBinary()
	}
}

// answer writes what the model says of the public rows.
func (j *job) answer(ctx context.Context, pool dataset.Pool, r *report) error {
	m, err := published.Open(j.result(studentFile))
	if err != nil {
		return err
	}
	j.bar.Update("labels", 0, 1)
	predictions, err := m.Predict(ctx, pool)
	if err != nil {
		return err
	}
	j.bar.Update("labels", 1, 1)
	labels := published.Labels{Classes: m.Classes, Withheld: j.g.Seeded}
	for _, p := range predictions {
		labels.Of = append(labels.Of, p.Class)
	}
	r.Released = len(predictions)
	return j.Write(j.releasable(), labelsFile, labels.Write)
}
