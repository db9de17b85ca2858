package publish

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/run"
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

// model trains one private model and releases it. Once it is whole everything else is a function
// of the model and of public rows.
type model struct {
	*job
	cfg  recipe.Config
	pool dataset.Pool
}

// lookModel reads all rows, and refuses a budget for which no model can be trained. It returns a
// hash of the rows.
func (j *job) lookModel(ctx context.Context, private string) (method, [32]byte, error) {
	fail := func(err error) (method, [32]byte, error) { return nil, [32]byte{}, shell.TrainingError(err) }
	task, schema, pool, err := shell.PrivateTask(j.g, &j.flags.PairFlags, private, false)
	if err != nil {
		return fail(err)
	}
	cfg := recipe.Config{Task: task, Delta: j.g.Delta, Unit: j.flags.UnitWord(), RowsPerUnit: j.flags.rows, Records: j.flags.size, Rows: schema,
		Cache: shell.FeatureCache(j.say)}
	cfg.Plans = []recipe.Plan{{Recipe: recipe.Default(cfg.Shape(), "", "", j.flags.epsilon)}}
	fresh := false
	if cfg.Shared, fresh, err = j.account(cfg.Unit); err != nil {
		return fail(err)
	}
	if err := cfg.Validate(); err != nil {
		return fail(shell.UsageError("dpsgd", err))
	}
	shell.SayRecords(j.g, cfg)
	if task.Grouped {
		shell.SayRows(j.g, cfg)
	}
	if !j.begun {
		if err := cfg.TryLedger(ctx, fresh); err != nil {
			return fail(err)
		}
	}
	return &model{job: j, cfg: cfg, pool: pool}, task.Hash(), nil
}

func (m *model) release(ctx context.Context) (*report, error) {
	r, err := m.trained(ctx)
	if err != nil {
		return nil, shell.TrainingError(err)
	}
	r.Public, r.Classes, r.Training.Features = m.pool.Len(), m.cfg.Rows.Classes, m.cfg.Plans[0].Recipe.Features
	if err := m.answer(ctx, m.pool, r); err != nil {
		return nil, err
	}
	if err := m.statement(studentFile); err != nil {
		return nil, err
	}
	return r, m.report(r, labelsFile, studentFile, statementFile, ledgerFile)
}

// modelName is what package recipe calls the only model of a shared ledger.
const modelName = "left-run-0"

// account returns the ledger, which one model is to fill.
func (j *job) account(unit string) (*recipe.Shared, bool, error) {
	made := ledger.Config{Unit: unit, Relation: accountant.AddRemove, Epsilon: j.flags.epsilon, Delta: j.g.Delta, Mode: ledger.Reserved, Noise: j.g.Noise()}
	file := run.File{Path: j.Private(ledgerFile), New: made, Warn: j.g.Warn,
		Expect: run.Expect{Relation: made.Relation, Unit: made.Unit, Epsilon: made.Epsilon, Delta: made.Delta, Mode: &made.Mode}}
	if !j.begun { // nor is its folder there
		return &recipe.Shared{File: file, Account: made}, true, nil
	}
	account, fresh, err := shell.LedgerConfig(file)
	return &recipe.Shared{File: file, Account: account}, fresh, err
}

// trained trains the model, unless that was done, and puts it into its place.
func (m *model) trained(ctx context.Context) (*report, error) {
	j, cfg := m.job, m.cfg
	cfg.Key, cfg.Dir, cfg.Format = j.key, j.Private("model"), formatFor(cfg)
	cfg.Progress = func(p recipe.Progress) { j.bar.Update(p.Stage, p.Done, p.Total) }
	defer shell.SpareMemory(cfg.Task)()
	result, err := recipe.Run(ctx, cfg)
	if err != nil {
		return nil, err
	}
	j.say(fmt.Sprintf("model: %d steps, noise %.4g times the clip norm", result.Rows[0].Steps, result.Rows[0].Noise))
	made, _ := results.Folder(cfg.Dir).Result(j.releasable(), "models", modelName+".model")
	file, err := os.ReadFile(made)
	if err != nil {
		return nil, err
	}
	if err := j.writeBytes(studentFile, file); err != nil {
		return nil, err
	}
	left, err := published.Open(j.made(studentFile))
	if err != nil {
		return nil, err
	}
	p := left.Labels
	noise, err := noiseOf(j.Private(ledgerFile))
	if err != nil {
		return nil, err
	}
	train := cfg.Plans[0].Recipe.Train
	return &report{Schema: schemaPublish, Method: methodDPSGD, Unit: p.Unit, Student: left.Card.String(), Entry: p.Entry, Epsilon: p.Epsilon, Delta: p.Delta, Releasable: p.Releasable,
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
	m, err := published.Open(j.made(studentFile))
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
	return j.write(labelsFile, labels.Write)
}
