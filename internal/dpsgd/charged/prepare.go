package charged

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/dpsgd/moments"
	"github.com/pate-go/pate/rng"
)

// Features holds the features of a training set and of a test set.
type Features struct {
	// Train is packed: see [dpsgd.Data.Packed]. A row has its parts one after the other.
	Train features.SideBySide
	Test  blas32.General
	// Transform makes features of further images, as of the test images.
	Transform *Transform
	// Statistics describes the releases, in the order of Events. Nothing in it is private.
	Statistics []moments.Source
	Events     []accountant.Event
	Releasable bool    // false for a seeded key
	Stages     []Stage // whose times depend on the private rows and are not for release
}

// Stage is a part of the work and how long it took.
type Stage struct {
	Name string
	Took time.Duration
}

// Prepare makes the features of train and test. Both must have images of one shape, and test may have no
// rows. It uses up, one by one, an unused reservation for every event of cfg.Events(), in order. The same
// key, data and configuration give the same features. It allocates only the two matrices, the training rows
// packed: everything after the extraction happens in place, and rounds rows once more for every statistic and
// at the end.
func Prepare(ctx context.Context, train, test dataset.Set, cfg Config, reservations []*ledger.Reservation, key rng.Key) (Features, error) {
	return PrepareRecords(ctx, train, nil, test, cfg, reservations, key)
}

// PrepareRecords is Prepare for records of several rows, whose ends in train are as in [dpsgd.Data]. A record
// contributes to each statistic the mean of the contributions of its rows, clipped as a whole. Config.Records
// is the number of records.
func PrepareRecords(
	ctx context.Context, train dataset.Set, ends []int, test dataset.Set, cfg Config, reservations []*ledger.Reservation, key rng.Key,
) (Features, error) {
	if err := cfg.Validate(); err != nil {
		return Features{}, err
	}
	events := cfg.Events()
	if len(reservations) != len(events) {
		return Features{}, fmt.Errorf("charged: %d reservations for %d events", len(reservations), len(events))
	}
	if train.X.Rows < 1 {
		return Features{}, errors.New("charged: no training rows")
	}
	if test.X.Rows > 0 && test.Image != train.Image {
		return Features{}, fmt.Errorf("charged: training images of %dx%d, test images of %dx%d",
			train.Image.Rows, train.Image.Cols, test.Image.Rows, test.Image.Cols)
	}
	t, err := newTransform(cfg, train.Image)
	if err != nil {
		return Features{}, err
	}
	p := preparation{ctx: ctx, cfg: cfg, ends: ends, reservations: reservations, key: key, transform: t}
	p.out = Features{
		Test: dense.New(test.X.Rows, t.cols), Transform: t, Events: events, Releasable: key.Releasable(),
	}
	for i := range t.parts {
		if err := p.learn(&t.parts[i], train); err != nil {
			return Features{}, err
		}
	}
	if test.X.Rows > 0 {
		p.begin("test rows")
		if err := t.applyTo(ctx, p.out.Test, test, cfg); err != nil {
			return Features{}, err
		}
	}
	p.end()
	return p.out, nil
}

type preparation struct {
	ctx          context.Context
	cfg          Config
	ends         []int
	reservations []*ledger.Reservation // left
	key          rng.Key
	transform    *Transform
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

// learn fills in a part of the training rows. On the way it releases the statistics of the part.
func (p *preparation) learn(part *part, train dataset.Set) error {
	p.begin(part.stage)
	x, err := p.transform.extract(p.ctx, part, train, p.cfg)
	if err != nil {
		return err
	}
	p.out.Train = append(p.out.Train, x)
	scattering := part.stage == scatteringStage
	noise := p.cfg.HOGMeanNoise
	if scattering {
		noise = p.cfg.MeanNoise
	}
	if scattering && p.cfg.SecondNoise > 0 {
		if err := p.whiten(part, x); err != nil {
			return err
		}
	}
	if noise > 0 {
		if err := p.center(part, x, noise); err != nil {
			return err
		}
	}
	p.begin("norm")
	return p.transform.finish(part, x, p.cfg.Workers)
}

func (p *preparation) release(x *features.Packed, noise, clip float64) moments.Config {
	c := p.cfg.release(noise, clip)
	c.Ends, c.Packed = p.ends, x
	return c
}

func (p *preparation) next() *ledger.Reservation {
	r := p.reservations[0]
	p.reservations = p.reservations[1:]
	return r
}

// whiten releases the second moment of the channels and whitens the rows with it.
func (p *preparation) whiten(part *part, x *features.Packed) error {
	p.begin("second moment")
	release := p.release(x, p.cfg.SecondNoise, p.cfg.SecondClip)
	second, err := moments.EstimateSecondMoment(p.ctx, blas32.General{}, features.Channels, release, p.next(), p.key)
	if err != nil {
		return fmt.Errorf("charged: %w", err)
	}
	p.out.Statistics = append(p.out.Statistics, second.Source)
	p.begin("whitening")
	whitening, err := second.Whitening(p.cfg.Ridge)
	if err != nil {
		return fmt.Errorf("charged: %w", err)
	}
	part.whitening = &whitening
	return part.whiten(x, p.cfg.Workers)
}

// center releases the mean of the rows, clipped to the root of their length.
func (p *preparation) center(part *part, x *features.Packed, noise float64) error {
	p.begin(part.stage + " mean")
	_, cols := x.Dims()
	clip := math.Sqrt(float64(cols))
	mean, err := moments.EstimateMean(p.ctx, blas32.General{}, p.release(x, noise, clip), p.next(), p.key)
	if err != nil {
		return fmt.Errorf("charged: %w", err)
	}
	p.out.Statistics = append(p.out.Statistics, mean.Source)
	part.mean = &mean
	return nil
}
