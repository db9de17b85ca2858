package recipe

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/charged"
)

// These feature sets use statistics of the private rows. A run charges its ledger for these statistics.
const (
	Scattering    = "scattering"     // scattering transform, whitened and centred
	ScatteringHOG = "scattering-hog" // Scattering with centred histograms of oriented gradients
	CentredHOG    = "centred-hog"    // only centred histograms of oriented gradients
	deskewed      = "deskewed-"
)

// FeatureSets returns the names of all feature sets.
func FeatureSets() []string {
	return []string{
		features.NamePixels, features.NameHOG, features.NameDeskewed, features.NameDeskewedHOG,
		CentredHOG, Scattering, ScatteringHOG, deskewed + CentredHOG, deskewed + Scattering, deskewed + ScatteringHOG,
	}
}

func (r Recipe) learned(s Shape) (charged.Config, bool) {
	c := r.Statistics
	name, straight := strings.CutPrefix(r.Features, deskewed)
	c.Deskew = straight
	c.Scattering = name == Scattering || name == ScatteringHOG
	c.HOG = name == CentredHOG || name == ScatteringHOG
	c.Records, c.Workers = s.Records, 1
	if !c.Scattering {
		c.SecondNoise, c.MeanNoise = 0, 0
	}
	if !c.HOG {
		c.HOGMeanNoise = 0
	}
	return c, c.Scattering || c.HOG
}

// Columns returns the number of features for a task of shape s.
func (r Recipe) Columns(s Shape) (int, error) {
	if c, ok := r.learned(s); ok {
		if s.Image.Rows == 0 {
			return 0, fmt.Errorf("features %q are for images, and these rows are not", r.Features)
		}
		if err := c.Validate(); err != nil {
			return 0, err
		}
		return c.Dim(s.Image)
	}
	e, err := features.Named(r.Features, s.Image)
	if err != nil {
		return 0, err
	}
	shape := s.Image
	if shape.Rows == 0 {
		shape = dataset.Shape{Rows: 1, Cols: s.Columns}
	}
	if e.Dim(shape) == 0 {
		return 0, fmt.Errorf("images of %dx%d are too small for features %q", shape.Rows, shape.Cols, r.Features)
	}
	return e.Dim(shape), nil
}

type prepared struct {
	train, test dpsgd.Data
	by          charged.Extraction
}

func (j *job) prepare(ctx context.Context, reservations []*ledger.Reservation) (prepared, error) {
	// The release of a statistic consumes one reservation. Features depend only on the rows, the noise of the
	// statistics, the key and the index of the run. So prepare reuses the previous features if all of these
	// are equal. Plans that share features release the same noisy values, and each plan is charged for them.
	name := j.plan.Recipe.Features
	c, learns := j.plan.Recipe.learned(j.shape)
	made := name
	if learns {
		made = fmt.Sprintf("%s %s, run %d", name, c.Name(), j.seed)
	}
	if j.made == made {
		return j.ready, nil
	}
	j.made, j.ready = "", prepared{}
	debug.FreeOSMemory() // earlier features and the reading of data take gigabytes
	if learns {
		p, err := j.learn(ctx, c, reservations)
		if err == nil {
			j.made, j.ready = made, p
		}
		return p, err
	}
	e, err := features.Named(name, j.Task.Image)
	if err != nil {
		return prepared{}, wrapped(err)
	}
	apply := features.Apply
	_, raw := e.(features.Raw)
	switch {
	case raw: // unchanged rows are not copied
		apply = func(_ context.Context, set dataset.Set, _ features.Extractor, _ int) (blas32.General, error) {
			whole, err := set.Slice(0, set.Len())
			return whole.X, err
		}
	case j.Cache != nil && j.Task.Image.Rows > 0:
		apply = j.Cache.Apply
	}
	p := prepared{train: dpsgd.Data{Y: j.Task.Private.Y, Ends: j.ends}, by: charged.Extraction{Fixed: e}}
	j.Progress(Progress{Stage: "features", Done: 0, Total: 2})
	if p.train.X, err = apply(ctx, j.Task.Private, e, j.Workers); err != nil {
		return prepared{}, wrapped(err)
	}
	j.Progress(Progress{Stage: "features", Done: 1, Total: 2})
	if j.Task.Test.Len() > 0 {
		if p.test.X, err = apply(ctx, j.Task.Test, e, j.Workers); err != nil {
			return prepared{}, wrapped(err)
		}
	}
	j.Progress(Progress{Stage: "features", Done: 2, Total: 2})
	j.made, j.ready = made, p
	return p, nil
}

func (j *job) learn(ctx context.Context, c charged.Config, reservations []*ledger.Reservation) (prepared, error) {
	c.Workers, c.Cache = j.Workers, j.Cache
	c.Progress = func(stage string) { j.Progress(Progress{Stage: stage, Done: 0, Total: 1}) }
	if j.plan.NonPrivate {
		l, own, err := j.unprotected(c)
		if err != nil {
			return prepared{}, err
		}
		defer l.Close()
		reservations = own
	}
	key := j.Key.Derive("recipe features", uint64(j.seed))
	f, err := charged.Prepare(ctx, j.Task.Private, j.ends, j.Task.Test, c, reservations, key)
	if err != nil {
		return prepared{}, wrapped(err)
	}
	return prepared{train: dpsgd.Data{Packed: f.Train, Y: j.Task.Private.Y, Ends: j.ends}, test: dpsgd.Data{Packed: f.Test},
		by: charged.Extraction{Transform: f.Transform}}, nil
}

func (j *job) unprotected(c charged.Config) (*ledger.Ledger, []*ledger.Reservation, error) {
	// The ledger is in memory, because the model that is trained on these features is not private. The
	// private model of this run has the same features, so the two models differ only in clipping and noise.
	budget, err := ledgerBudget(c.Events(), j.Delta)
	if err != nil {
		return nil, nil, err
	}
	l, err := ledger.New(ledger.Config{Unit: j.Unit, Relation: relation, Epsilon: budget, Delta: j.Delta})
	if err != nil {
		return nil, nil, wrapped(err)
	}
	reservations, err := l.ReserveBatch(c.Events())
	if err != nil {
		err = errors.Join(fmt.Errorf("recipe: %w", err), l.Close())
	}
	return l, reservations, err
}
