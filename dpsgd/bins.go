package dpsgd

import (
	"fmt"

	"github.com/pate-go/pate/accountant"
)

// ballsInBins draws the one step of a record in an epoch once for all epochs.
type ballsInBins struct{ epochs }

func (b ballsInBins) validate(c Config) error {
	switch err := b.epochs.validate(c); {
	case err != nil:
		return err
	case b.per > 1:
		return fmt.Errorf("dpsgd: Config.Sampling.PerEpoch is for %q", Allocation)
	case len(c.Phases) > 1:
		return fmt.Errorf("dpsgd: Config.Phases: %q is accounted for one phase, since all epochs have the same batches", BallsInBins)
	}
	return nil
}

func (b ballsInBins) event(_ Phase, steps int, noise accountant.Gaussian) accountant.Event {
	e := accountant.BallsInBins{Bins: int64(b.steps), Epochs: max(1, b.count(steps)), Event: noise}
	if b.count(steps) == 0 {
		return accountant.Repeated{Event: e}
	}
	return e
}

func (b ballsInBins) sampler(_ float64, start, parts, blocks int) sampler {
	return &epochSampler{epochs: b.epochs, same: true, start: start, blocks: blocks, parts: make([]epochPart, parts)}
}
