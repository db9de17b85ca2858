package charged

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/moments"
	"github.com/pate-go/pate/rng"
)

// Features holds the features of a training set and of a test set.
type Features struct {
	// Train and Test hold the scattering features, then the oriented gradients (see [dpsgd.Data.Packed]).
	Train, Test features.SideBySide
	// Transform computes the features of other images. It contains no private values.
	Transform *Transform
}

// Prepare computes the features of train and test, which must have images of the same shape. The set test may
// be empty. If ends is set, a record is all rows of a unit (see [dpsgd.Data]). Otherwise, a record is one row
// of train. A record's contribution to a statistic is the mean over its rows, clipped once. Config.Records is
// the number of records. Prepare consumes one unused reservation for every event of cfg.Events(), in order.
// Equal keys, data and configurations give equal features.
func Prepare(
	ctx context.Context, train dataset.Set, ends []int, test dataset.Set, cfg Config, reservations []*ledger.Reservation, key rng.Key,
) (Features, error) {
	if err := cfg.Validate(); err != nil {
		return Features{}, err
	}
	if n := len(cfg.releases()); len(reservations) != n {
		return Features{}, fmt.Errorf("charged: %d reservations for %d events", len(reservations), n)
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
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	p := preparation{ctx: ctx, cfg: cfg, ends: ends, reservations: reservations, key: key, transform: t}
	out := Features{Transform: t}
	for i := range t.parts {
		x, err := p.learn(&t.parts[i], train)
		if err != nil {
			return Features{}, err
		}
		out.Train = append(out.Train, x)
	}
	if test.X.Rows > 0 {
		cfg.Progress("test rows")
		if out.Test, err = t.pack(ctx, test, cfg); err != nil {
			return Features{}, err
		}
	}
	return out, nil
}

type preparation struct {
	ctx          context.Context
	cfg          Config
	ends         []int
	reservations []*ledger.Reservation // not yet used
	key          rng.Key
	transform    *Transform
}

func (p *preparation) learn(part *part, train dataset.Set) (*features.Packed, error) {
	p.cfg.Progress(part.stage)
	x, err := p.transform.extract(p.ctx, part, train, p.cfg)
	if err != nil {
		return nil, err
	}
	scattering := part.stage == scatteringStage
	noise := p.cfg.HOGMeanNoise
	if scattering {
		noise = p.cfg.MeanNoise
	}
	if scattering && p.cfg.SecondNoise > 0 {
		if err := p.whiten(part, x); err != nil {
			return nil, err
		}
	}
	if noise > 0 {
		if err := p.center(part, x, noise); err != nil {
			return nil, err
		}
	}
	p.cfg.Progress("norm")
	return x, p.transform.finish(part, x, p.cfg.Workers)
}

func (p *preparation) next() *ledger.Reservation {
	r := p.reservations[0]
	p.reservations = p.reservations[1:]
	return r
}

func (p *preparation) whiten(part *part, x *features.Packed) error {
	p.cfg.Progress("second moment")
	data, release := dpsgd.Data{Packed: x, Ends: p.ends}, p.cfg.release(p.cfg.SecondNoise, p.cfg.SecondClip)
	second, err := moments.EstimateSecondMoment(p.ctx, data, features.Channels, release, p.next(), p.key)
	if err != nil {
		return fmt.Errorf("charged: %w", err)
	}
	p.cfg.Progress("whitening")
	whitening, err := second.Whitening(p.cfg.Ridge)
	if err != nil {
		return fmt.Errorf("charged: %w", err)
	}
	part.whitening = &whitening
	return part.whiten(x, p.cfg.Workers)
}

func (p *preparation) center(part *part, x *features.Packed, noise float64) error {
	p.cfg.Progress(part.stage + " mean")
	_, cols := x.Dims()
	release := p.cfg.release(noise, math.Sqrt(float64(cols)))
	mean, err := moments.EstimateMean(p.ctx, dpsgd.Data{Packed: x, Ends: p.ends}, release, p.next(), p.key)
	if err != nil {
		return fmt.Errorf("charged: %w", err)
	}
	part.mean = &mean
	return nil
}
