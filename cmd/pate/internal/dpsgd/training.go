package dpsgd

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
)

type trainingFlags struct {
	statistics, batch, clip, learningRate   float64
	momentum, weightDecay, ema              float64
	steps, bands, warmup, views             int
	sampling, clipping, optimizer, schedule string
}

func (f *trainingFlags) set(cmd *cobra.Command, s recipe.Shape, r *recipe.Recipe) error {
	given := cmd.Flags().Changed
	if given("statistics-noise") {
		if err := shell.Positive(true, "statistics-noise", f.statistics); err != nil {
			return err
		}
		r.Statistics.SecondNoise, r.Statistics.MeanNoise, r.Statistics.HOGMeanNoise = f.statistics, f.statistics, f.statistics
	}
	shell.Put(given("steps"), &r.Train.Steps, f.steps)
	if given("batch") {
		r.Train.SamplingProbability = math.Min(1, f.batch/float64(s.Records))
	}
	if err := f.setSampling(given, &r.Train); err != nil {
		return err
	}
	shell.Put(given("clip"), &r.Train.ClipNorm, f.clip)
	shell.Put(given("learning-rate"), &r.Train.LearningRate, f.learningRate)
	shell.Put(given("ema"), &r.Train.AverageDecay, f.ema)
	shell.Put(given("augment"), &r.Views, f.views)
	if given("clipping") {
		r.Train.Clipping = clippings(r.Train.Probability() * float64(s.Records))[f.clipping]
	}
	f.setOptimizer(given, &r.Train.Optimizer)
	return f.setSchedule(given, &r.Train.Schedule)
}

func (f *trainingFlags) setSampling(given func(string) bool, c *dpsgd.Config) error {
	// For schemes other than Poisson and cyclic, it sets the number of steps per epoch so that batches have
	// about the size in the recipe. It then rounds the number of steps to whole epochs unless --steps is
	// given.
	scheme := dpsgd.Scheme(f.sampling)
	if given("bands") != (scheme == dpsgd.Cyclic) {
		return errors.New("--sampling cyclic needs --bands, and --bands needs --sampling cyclic")
	}
	q := c.SamplingProbability
	if scheme == dpsgd.Poisson || !(q > 0 && 1/q <= math.MaxInt32) { // Validate reports errors
		return nil
	}
	if scheme == dpsgd.Cyclic {
		return f.setBands(c)
	}
	t := max(1, int(math.Round(1/q)))
	if !given("steps") {
		c.Steps = t * max(1, int(math.Round(float64(c.Steps)/float64(t))))
	}
	c.Sampling, c.SamplingProbability = dpsgd.Sampling{Scheme: scheme, EpochSteps: t}, 0
	return nil
}

func (f *trainingFlags) setBands(c *dpsgd.Config) error {
	most := math.Min(float64(c.Steps), math.Floor(1/c.SamplingProbability*(1+1e-12)))
	if f.bands < 1 || float64(f.bands) > most {
		return fmt.Errorf("--bands %d: must be from 1 to %.0f, the smaller of steps and records / --batch: a batch is drawn from "+
			"one of as many groups", f.bands, most)
	}
	c.Sampling = dpsgd.Sampling{Scheme: dpsgd.Cyclic, Bands: f.bands}
	return nil
}

func clippings(batch float64) map[string]dpsgd.Clipping {
	return map[string]dpsgd.Clipping{
		"flat":      {},
		"per-layer": {PerGroup: true},
		"automatic": {Stabilizer: 0.01},
		"adaptive":  {Adaptive: dpsgd.Adaptive{Quantile: 0.5, LearningRate: 0.2, CountNoise: math.Max(batch/20, 20)}},
	}
}

func (f *trainingFlags) setSchedule(given func(string) bool, s *dpsgd.Schedule) error {
	if given("schedule") {
		shape, end, ends := strings.Cut(f.schedule, ":")
		*s = dpsgd.Schedule{Shape: dpsgd.Shape(shape), Warmup: s.Warmup}
		if shape == string(dpsgd.Stepwise) {
			return fmt.Errorf("--schedule %s: must be constant, linear or cosine", f.schedule)
		}
		if ends {
			var err error
			if s.Final, err = strconv.ParseFloat(end, 64); err != nil {
				return fmt.Errorf("--schedule %s: after the colon give the last rate divided by the first rate", f.schedule)
			}
		}
	}
	shell.Put(given("warmup"), &s.Warmup, f.warmup)
	return nil
}

func (f *trainingFlags) setOptimizer(given func(string) bool, o *optim.Config) {
	if given("optimizer") {
		momentum := o.Momentum
		switch f.optimizer {
		case "nesterov":
			*o = optim.Config{Momentum: momentum, Nesterov: true, WeightDecay: o.WeightDecay}
		case string(optim.SGD):
			*o = optim.Config{Momentum: momentum, WeightDecay: o.WeightDecay}
		default:
			*o = optim.Config{Method: optim.Method(f.optimizer), WeightDecay: o.WeightDecay}
		}
	}
	shell.Put(given("momentum"), &o.Momentum, f.momentum)
	shell.Put(given("weight-decay"), &o.WeightDecay, f.weightDecay)
}
