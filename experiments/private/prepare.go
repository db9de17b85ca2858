package private

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/moments"
	"github.com/pate-go/pate/experiments/dataset"
	"github.com/pate-go/pate/experiments/features"
)

// Features is the features of a training and of a test set.
type Features struct {
	Train, Test blas32.General
	// Statistics is what was released, in the order of Events; nothing in it is
	// private.
	Statistics []moments.Source
	Events     []accountant.Event
	Releasable bool // false for a seeded key
	Stages     []Stage
}

// Stage is a part of the work and how long it took.
type Stage struct {
	Name string
	Took time.Duration
}

// Prepare makes the features of train and test, which must have images of one
// shape; test may have no rows. It needs a reservation for every event of
// cfg.Events(), in order, each unused; they are used up one by one. The same key, data and
// configuration give the same features. The two matrices are all it allocates:
// everything behind the extraction happens in place.
func Prepare(ctx context.Context, train, test dataset.Set, cfg Config, reservations []*ledger.Reservation, key dpsgd.Key) (Features, error) {
	if err := cfg.Validate(); err != nil {
		return Features{}, err
	}
	events := cfg.Events()
	if len(reservations) != len(events) {
		return Features{}, fmt.Errorf("private: %d reservations for %d events", len(reservations), len(events))
	}
	if train.X.Rows < 1 {
		return Features{}, errors.New("private: no training rows")
	}
	if test.X.Rows > 0 && test.Image != train.Image {
		return Features{}, fmt.Errorf("private: training images of %dx%d, test images of %dx%d", train.Image.Rows, train.Image.Cols, test.Image.Rows, test.Image.Cols)
	}
	scattering, hog, err := cfg.extractors(train.Image)
	if err != nil {
		return Features{}, err
	}
	dim := dimOf(train.Image, scattering, hog)
	p := preparation{ctx: ctx, cfg: cfg, reservations: reservations, key: key, sets: []dataset.Set{train, test}}
	p.out.Train, p.out.Test = newMatrix(train.X.Rows, dim), newMatrix(test.X.Rows, dim)
	p.out.Events, p.out.Releasable = events, key.Releasable()
	if err := p.run(scattering, hog); err != nil {
		return Features{}, err
	}
	p.end()
	return p.out, nil
}

func newMatrix(rows, cols int) blas32.General {
	return blas32.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float32, rows*cols)}
}

// preparation is the state of Prepare.
type preparation struct {
	ctx          context.Context
	cfg          Config
	reservations []*ledger.Reservation // those left
	key          dpsgd.Key
	sets         []dataset.Set
	out          Features
	began        time.Time
}

func (p *preparation) begin(stage string) {
	p.end()
	p.out.Stages = append(p.out.Stages, Stage{Name: stage})
	if p.cfg.Progress != nil {
		p.cfg.Progress(stage)
	}
	p.began = time.Now()
}

func (p *preparation) end() {
	if n := len(p.out.Stages); n > 0 {
		p.out.Stages[n-1].Took = time.Since(p.began)
	}
}

func (p *preparation) run(scattering, hog features.Extractor) error {
	at := 0
	if scattering != nil {
		if err := p.scattering(scattering, at); err != nil {
			return err
		}
		at += scattering.Dim(p.sets[0].Image)
	}
	if hog != nil {
		return p.hog(hog, at)
	}
	return nil
}

func (p *preparation) scattering(e features.Extractor, at int) error {
	parts, err := p.extract("scattering", e, at)
	if err != nil {
		return err
	}
	if p.cfg.SecondNoise > 0 {
		if err := p.whiten(parts); err != nil {
			return err
		}
	}
	if p.cfg.MeanNoise > 0 {
		if err := p.center("scattering mean", parts, p.cfg.MeanNoise); err != nil {
			return err
		}
	}
	return p.norm(parts)
}

func (p *preparation) hog(e features.Extractor, at int) error {
	parts, err := p.extract("oriented gradients", e, at)
	if err != nil {
		return err
	}
	if p.cfg.HOGMeanNoise > 0 {
		if err := p.center("oriented gradients mean", parts, p.cfg.HOGMeanNoise); err != nil {
			return err
		}
	}
	return p.norm(parts)
}

// norm gives every row's part its share of the norm of the row, which is the root
// of its length: parts weigh the same, whatever their lengths.
func (p *preparation) norm(parts []blas32.General) error {
	p.begin("norm")
	square := float64(p.out.Train.Cols)
	if p.cfg.Scattering && p.cfg.HOG {
		square /= 2
	}
	for _, x := range parts {
		if err := moments.ScaleRows(x, math.Sqrt(square), p.cfg.Workers); err != nil {
			return fmt.Errorf("private: %w", err)
		}
	}
	return nil
}

// extract computes features of both sets into the columns from at, and returns
// those columns.
func (p *preparation) extract(stage string, e features.Extractor, at int) ([]blas32.General, error) {
	p.begin(stage)
	var parts []blas32.General
	for i, whole := range []blas32.General{p.out.Train, p.out.Test} {
		dim := e.Dim(p.sets[0].Image)
		if whole.Rows == 0 {
			continue
		}
		part := blas32.General{Rows: whole.Rows, Cols: dim, Stride: whole.Stride, Data: whole.Data[at:]}
		apply := features.ApplyTo
		if p.cfg.Cache != nil {
			apply = p.cfg.Cache.ApplyTo
		}
		if err := apply(p.ctx, part, p.sets[i], e, p.cfg.Workers); err != nil {
			return nil, fmt.Errorf("private: %w", err)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// next is the reservation of the next release.
func (p *preparation) next() *ledger.Reservation {
	r := p.reservations[0]
	p.reservations = p.reservations[1:]
	return r
}

// whiten releases the second moment of the channels of the training rows and
// whitens all rows with it.
func (p *preparation) whiten(parts []blas32.General) error {
	p.begin("second moment")
	second, err := moments.EstimateSecondMoment(p.ctx, parts[0], features.Channels, p.cfg.release(p.cfg.SecondNoise, p.cfg.SecondClip), p.next(), p.key)
	if err != nil {
		return fmt.Errorf("private: %w", err)
	}
	p.out.Statistics = append(p.out.Statistics, second.Source)
	p.begin("whitening")
	whitening, err := second.Whitening(p.cfg.Ridge)
	if err != nil {
		return fmt.Errorf("private: %w", err)
	}
	for _, x := range parts {
		if err := whitening.Apply(x, p.cfg.Workers); err != nil {
			return fmt.Errorf("private: %w", err)
		}
	}
	return nil
}

// center releases the mean of the training rows, clipped to the root of their
// length, and takes it from all rows.
func (p *preparation) center(stage string, parts []blas32.General, noise float64) error {
	p.begin(stage)
	clip := math.Sqrt(float64(parts[0].Cols))
	mean, err := moments.EstimateMean(p.ctx, parts[0], p.cfg.release(noise, clip), p.next(), p.key)
	if err != nil {
		return fmt.Errorf("private: %w", err)
	}
	p.out.Statistics = append(p.out.Statistics, mean.Source)
	for _, x := range parts {
		if err := mean.Subtract(x, p.cfg.Workers); err != nil {
			return fmt.Errorf("private: %w", err)
		}
	}
	return nil
}
