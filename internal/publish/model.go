package publish

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/student/published"
)

const modelKind = "logistic regression, trained by DP-SGD"

const modelName = "left-run-0"

// model carries out the method [DPSGD]. It trains one private model, and derives all other results from this
// model and from public rows.
type model struct {
	*job
	cfg  recipe.Config
	pool dataset.Pool
}

func (m *model) look(ctx context.Context) (data [32]byte, err error) {
	task, schema, err := m.readTask()
	if err != nil {
		return data, err
	}
	m.cfg = recipe.Config{Task: task, Delta: m.Delta, Unit: m.Unit, RowsPerUnit: m.RowsPerUnit, Records: m.Size,
		Rows: schema, Cache: m.Cache}
	shape := m.cfg.Shape()
	if shape.Image.Rows == 0 {
		shape.Directions, shape.Distance = m.read.seen().Directions, m.read.seen().Distance
	}
	m.cfg.Plans = []recipe.Plan{{Recipe: recipe.Default(shape, "", "", m.Epsilon)}}
	if name := m.cfg.Plans[0].Recipe.Features; shape.Image.Rows == 0 && name != features.NamePixels {
		m.Say(fmt.Sprintf("features: %s, the %d columns and cosines of fixed random projections", name, shape.Columns))
		m.Say("  the public rows vary in no more directions than there are classes, so a linear model of the columns is weak")
	}
	file := m.ledger()
	account, fresh, err := file.Look()
	if err != nil {
		return data, err
	}
	m.cfg.Shared = &recipe.Shared{File: file, Account: account}
	if err := m.cfg.Validate(); err != nil {
		return data, err
	}
	m.Say(fmt.Sprintf("units: %d, as declared", m.Size))
	if task.Grouped && m.RowsPerUnit == 1 {
		m.Say(fmt.Sprintf("rows of one %s: only the first is used, which may differ from later ones (as in order of time); "+
			"--rows-per-unit uses more, at the same epsilon", m.Unit))
	} else if task.Grouped {
		m.Say(fmt.Sprintf("rows of one %s: up to %d are used; their gradients are averaged and count as one, so epsilon covers all of them",
			m.Unit, m.RowsPerUnit))
	}
	if fresh {
		err := m.cfg.TryLedger(ctx)
		if errors.Is(err, recipe.ErrUncovered) {
			file.New.Accountant = accountant.ByRDP
			m.cfg.Shared = &recipe.Shared{File: file, Account: file.New}
			err = m.cfg.TryLedger(ctx)
		}
		if err != nil {
			return data, err
		}
	}
	return task.Hash(), nil
}

func (m *model) readTask() (dataset.Task, *dataset.Schema, error) {
	public, err := m.public()
	if err != nil {
		return dataset.Task{}, nil, err
	}
	m.pool = public.pool
	task, err := public.ReadTask(m.Private)
	return task, public.Schema, err
}

func (m *model) release(ctx context.Context) (*Report, error) {
	r, left, err := m.trained(ctx)
	if err != nil {
		return nil, err
	}
	if r.Utility, err = m.answer(ctx, left); err != nil {
		return nil, err
	}
	if err := m.statement(r, studentFile); err != nil {
		return nil, err
	}
	return r, m.report(r, labelsFile, studentFile, statementFile, ledgerFile)
}

func (m *model) trained(ctx context.Context) (*Report, *published.Model, error) {
	cfg := m.cfg
	cfg.Key, cfg.Dir, cfg.Format = m.key, m.dir.Private("model"), formatFor(cfg)
	cfg.Progress = func(p recipe.Progress) { m.Progress(p.Stage, p.Done, p.Total) }
	if m.Spare != nil {
		defer m.Spare(cfg.Task)()
	}
	result, err := recipe.Run(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	m.Say(fmt.Sprintf("model: %d steps, noise %.4g times the clip norm", result.Rows[0].Steps, result.Rows[0].Noise))
	made, _ := results.Folder(cfg.Dir).Result(m.releasable(), "models", modelName+".model")
	file, err := os.ReadFile(made)
	if err != nil {
		return nil, nil, err
	}
	if err := m.writeBytes(studentFile, file); err != nil {
		return nil, nil, err
	}
	left, err := published.Open(m.made(studentFile))
	if err != nil {
		return nil, nil, err
	}
	p, r := left.Labels, cfg.Plans[0].Recipe
	return &Report{Schema: schemaPublish, Method: DPSGD, Public: m.pool.Len(), Classes: cfg.Rows.Classes, Unit: p.Unit,
		Released: m.pool.Len(), Student: left.Card.String(), Entry: p.Entry,
		Epsilon: p.Epsilon, Delta: p.Delta, Releasable: p.Releasable,
		Training: &Training{Records: cfg.Shape().Records, RowsPerUnit: m.RowsPerUnit, Features: r.Features, Steps: r.Train.Steps,
			Probability: r.Train.SamplingProbability, Noise: result.Rows[0].Noise, ClipNorm: r.Train.ClipNorm}}, left, nil
}

// formatFor returns a function that encodes a model for publication. The ledger records the SHA-256 of the
// encoded bytes.
func formatFor(cfg recipe.Config) func(*recipe.Model, recipe.Paid) ([]byte, error) {
	return func(m *recipe.Model, paid recipe.Paid) ([]byte, error) {
		model, ok := m.Plain()
		if !ok {
			return nil, errors.New("publish: the model is not linear")
		}
		p := published.Private{Schema: cfg.Rows, Kind: modelKind, Features: m.Features, Model: model, Provenance: published.Provenance{
			Ledger: ledgerFile, Entry: paid.Entry, Epsilon: paid.Epsilon, Delta: paid.Delta, Unit: cfg.Unit,
			Relation: cfg.Shared.Account.Relation.String(), Releasable: m.Releasable}}
		if cfg.Rows.Image.Rows == 0 && m.Features != features.NamePixels {
			p.Kind = "logistic regression on columns and their cosines, trained by DP-SGD"
		}
		if t := m.Transform(); t != nil {
			text, err := t.MarshalBinary()
			if err != nil {
				return nil, err
			}
			p.Transform, p.Settings = text, m.Features
		}
		whole, err := published.FromModel(p)
		if err != nil {
			return nil, err
		}
		return whole.MarshalBinary()
	}
}

func (m *model) answer(ctx context.Context, model *published.Model) ([]statement.Share, error) {
	m.Progress("labels", 0, 1)
	predictions, err := model.Predict(ctx, m.pool)
	if err != nil {
		return nil, err
	}
	m.Progress("labels", 1, 1)
	labels := published.Labels{Classes: model.Classes, Withheld: !m.releasable()}
	for _, p := range predictions {
		labels.Of = append(labels.Of, p.Class)
	}
	return model.Utility(predictions, m.pool, m.Group), m.write(labelsFile, labels.Write)
}
