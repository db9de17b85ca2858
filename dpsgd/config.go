package dpsgd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dpsgd/optim"
)

// Config configures a training run. If the field of a feature is zero, the feature is off. So the smallest
// Config is plain DP-SGD with a constant learning rate.
type Config struct {
	// SamplingProbability is the probability that a record joins a batch, in [2^-64, 1]. If Sampling is a
	// scheme with epochs, SamplingProbability must be zero.
	SamplingProbability float64  `json:"sampling_probability,omitzero"`
	Sampling            Sampling `json:"sampling,omitzero"` // how batches are drawn; default Poisson
	// NoiseMultiplier is the standard deviation of the noise divided by the clip norm, in [2^-10, 2^20].
	NoiseMultiplier float64 `json:"noise_multiplier,omitzero"`
	Steps           int     `json:"steps,omitzero"` // number of updates
	// Phases, if not empty, replaces SamplingProbability, NoiseMultiplier and Steps, which must be zero.
	Phases []Phase `json:"phases,omitempty"`

	// ClipNorm bounds the norm of a record's gradient, in [2^-40, 2^40]. It has no effect on the privacy
	// cost.
	ClipNorm float64 `json:"clip_norm,omitzero"`
	// Clipping configures how gradients are clipped. With the zero value, the whole gradient is clipped to
	// ClipNorm.
	Clipping Clipping `json:"clipping,omitzero"`
	// Laplace selects discrete Laplace noise, for pure differential privacy. Its scale is NoiseMultiplier
	// times the clip norm. The model must have one parameter, and SamplingProbability must be 1.
	Laplace bool `json:"laplace,omitzero"`

	LearningRate float64      `json:"learning_rate,omitzero"` // multiplies an update; positive
	Schedule     Schedule     `json:"schedule,omitzero"`      // changes the learning rate; default constant
	Optimizer    optim.Config `json:"optimizer,omitzero"`     // update rule; default plain gradient descent
	// AverageDecay in (0, 1) turns on the moving average Result.Average, which costs no privacy.
	AverageDecay float64 `json:"average_decay,omitzero"`

	// Records is the public number of records. The noisy sum is divided by the expected batch size, which
	// depends on Records. By default Records is the number of records in the data, which the run then
	// publishes.
	Records int `json:"records,omitzero"`
	// Workers is the number of goroutines, by default GOMAXPROCS. The result does not depend on Workers.
	Workers int `json:"-"`
	// Checkpoint is the path of a file for the state of the run, with mode 0600. By default there is no file.
	// After an interruption, call Train with the recorded reservation (see ledger.Run). Train then resumes
	// without another charge, and gives the same result. The file is secret, like the data.
	Checkpoint      string `json:"-"`
	CheckpointEvery int    `json:"-"` // steps between two checkpoints; default a twentieth of Steps
	// NonPrivate trains without noise. NoiseMultiplier must then be zero, and ClipNorm may be +Inf. The event
	// has infinite cost, and Train takes no reservation.
	NonPrivate bool `json:"non_private,omitzero"`
	// Public holds public data, on which Metrics.Public scores the model. It may have no rows.
	Public      Data `json:"-"`
	PublicEvery int  `json:"-"` // steps between two evaluations; default a twentieth of Steps
	// Observe, if not nil, runs after every step, in Train's goroutine. The model then holds the iterate of
	// this step. Observe may read the model, but must not change the model.
	Observe   func(Metrics) `json:"-"`
	Distances Distances     `json:"-"` // private distances, measured at every step if Distances.Observe is set
}

// Phase is a sequence of steps with the same sampling probability and the same noise.
type Phase struct {
	Steps               int     `json:"steps,omitzero"`
	SamplingProbability float64 `json:"sampling_probability,omitzero"`
	NoiseMultiplier     float64 `json:"noise_multiplier,omitzero"`
}

func (c Config) phases() []Phase {
	if len(c.Phases) > 0 {
		return c.Phases
	}
	return []Phase{{Steps: c.Steps, SamplingProbability: c.SamplingProbability, NoiseMultiplier: c.NoiseMultiplier}}
}

// TotalSteps returns the number of steps of all phases.
func (c Config) TotalSteps() int {
	n := 0
	for _, p := range c.phases() {
		n += p.Steps
	}
	return n
}

func (c Config) phaseAt(step int) (p Phase, start int) {
	for _, p = range c.phases() {
		if step < start+p.Steps {
			return p, start
		}
		start += p.Steps
	}
	return p, start - p.Steps
}

// Event returns the event of a run. Neighbours differ by one added or removed record.
func (c Config) Event() accountant.Event { return c.EventAfter(c.TotalSteps()) }

// EventAfter returns the event of a run with this number of steps. [Train] always charges all steps.
func (c Config) EventAfter(steps int) accountant.Event {
	if c.NonPrivate {
		return accountant.NonPrivate{}
	}
	var events []accountant.Event
	for _, p := range c.phases() {
		n := max(0, min(p.Steps, steps))
		if steps -= n; n > 0 || len(events) == 0 {
			events = append(events, c.eventOf(p, n))
		}
	}
	if len(events) == 1 {
		return events[0]
	}
	return accountant.Composed{Events: events}
}

// GaussianDraws returns the number of discrete Gaussian values that a run draws. The model has the given
// number of parameters. [LatticeDelta] needs the result.
func (c Config) GaussianDraws(parameters int) int {
	if c.NonPrivate || c.Laplace {
		return 0
	}
	if c.Clipping.Adaptive.on() {
		parameters++ // the count
	}
	return c.TotalSteps() * parameters
}

func (c Config) eventOf(p Phase, steps int) accountant.Event {
	if c.Laplace {
		return accountant.Repeated{Event: accountant.Laplace{NoiseMultiplier: p.NoiseMultiplier}, Count: int64(steps)}
	}
	z := p.NoiseMultiplier
	if c.Clipping.Adaptive.on() {
		z = jointMultiplier(z, c.Clipping.Adaptive.CountNoise)
	}
	return c.Sampling.scheme().event(p, steps, accountant.Gaussian{NoiseMultiplier: z})
}

// Validate returns an error for a field that is missing or out of range.
func (c Config) Validate() error {
	err := cmp.Or(c.validateSampling(), c.validatePhases())
	if err == nil {
		err = cmp.Or(c.validateClipping(), c.validateDistances())
	}
	if err == nil {
		err = cmp.Or(
			within("Config.LearningRate", c.LearningRate, 0x1p-60, 0x1p60),
			c.Schedule.validate(c.TotalSteps()),
			within("Config.AverageDecay", c.AverageDecay, 0, 1-0x1p-30),
			within("Config.Records", float64(c.Records), 0, math.MaxInt32),
			within("Config.Workers", float64(c.Workers), 0, maxWorkers),
			within("Config.CheckpointEvery", float64(c.CheckpointEvery), 0, math.MaxInt32),
			within("Config.PublicEvery", float64(c.PublicEvery), 0, math.MaxInt32),
		)
	}
	if err != nil {
		return err
	}
	if err := c.Optimizer.Validate(); err != nil {
		return fmt.Errorf("dpsgd: Config.Optimizer: %w", err)
	}
	return nil
}

func (c Config) validatePhases() error {
	if len(c.Phases) > 0 && (c.Steps != 0 || c.SamplingProbability != 0 || c.NoiseMultiplier != 0) {
		return errors.New("dpsgd: Config.Phases stand in for Steps, SamplingProbability and NoiseMultiplier, which must be zero")
	}
	low, high := minNoise, maxNoise
	if c.NonPrivate {
		low, high = 0, 0
	}
	least, most := 0x1p-64, 1.0
	if c.Sampling.EpochSteps > 0 {
		least, most = 0, 0
	}
	for i, p := range c.phases() {
		name := "Config."
		if len(c.Phases) > 0 {
			name = fmt.Sprintf("Config.Phases[%d].", i)
		}
		err := cmp.Or(
			within(name+"SamplingProbability", p.SamplingProbability, least, most),
			within(name+"NoiseMultiplier", p.NoiseMultiplier, low, high),
			within(name+"Steps", float64(p.Steps), 1, math.MaxInt32),
		)
		if err == nil && c.Sampling.EpochSteps > 0 {
			err = c.Sampling.epochs().checkWhole(name+"Steps", p.Steps)
		}
		if err != nil {
			return err
		}
		if c.Laplace && p.SamplingProbability != 1 {
			return fmt.Errorf("dpsgd: Config.Laplace needs %sSamplingProbability 1, not %g", name, p.SamplingProbability)
		}
	}
	return within("Config.Steps", float64(c.TotalSteps()), 1, math.MaxInt32)
}

const (
	minNoise, maxNoise = 0x1p-10, 0x1p20
	minClip, maxClip   = 0x1p-40, 0x1p40
	maxWorkers         = 1 << 16
)

func within(field string, v, low, high float64) error {
	if v >= low && v <= high {
		return nil
	}
	return fmt.Errorf("dpsgd: %s is %g, but must be in [%g, %g]", field, v, low, high)
}

// MarshalJSON writes only the fields that affect the result. Fingerprints of runs hash this JSON. So a
// renamed field must keep its JSON name, and a zero field must be omitted.
func (c Config) MarshalJSON() ([]byte, error) {
	type fields Config
	if math.IsInf(c.ClipNorm, 1) {
		c.ClipNorm = 0 // JSON has no infinity, and ClipNorm is otherwise 0 only with GroupNorms
	}
	if c.Sampling.Scheme == Poisson {
		c.Sampling.Scheme = "" // the default
	}
	return json.Marshal(fields(c))
}

func (c Config) identity() string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // not reached after Validate, because finite numbers always marshal
	}
	return "dpsgd 6 " + string(text)
}

func (c Config) every(n int) int {
	if n > 0 {
		return n
	}
	return max(1, c.TotalSteps()/20)
}

// Shape selects how the learning rate changes during training.
type Shape string

// The default Shape is Constant.
const (
	Constant Shape = "constant"
	Linear   Shape = "linear"   // linearly to Final
	Cosine   Shape = "cosine"   // along half a cosine wave to Final
	Stepwise Shape = "stepwise" // multiplied by Factor after every Every steps
)

type Schedule struct {
	Shape Shape `json:"shape,omitzero"`
	// Final is the learning rate of the last step, divided by Config.LearningRate. Only Linear and Cosine use
	// Final.
	Final float64 `json:"final,omitzero"`
	// Every is the number of steps between two changes of the learning rate, for Stepwise.
	Every  int     `json:"every,omitzero"`
	Factor float64 `json:"factor,omitzero"` // of a change by Stepwise, in (0, 1]
	// In the first Warmup steps the learning rate rises linearly to Config.LearningRate.
	Warmup int `json:"warmup,omitzero"`
}

func (s Schedule) validate(steps int) error {
	err := cmp.Or(
		within("Config.Schedule.Final", s.Final, 0, 0x1p20),
		within("Config.Schedule.Every", float64(s.Every), 0, math.MaxInt32),
		within("Config.Schedule.Factor", s.Factor, 0, 1),
		within("Config.Schedule.Warmup", float64(s.Warmup), 0, float64(steps)),
	)
	if err != nil {
		return err
	}
	final, stepwise := s.Shape == Linear || s.Shape == Cosine, s.Shape == Stepwise
	switch {
	case !final && !stepwise && s.Shape != "" && s.Shape != Constant:
		return fmt.Errorf("dpsgd: Config.Schedule.Shape %q is unknown, must be %q, %q, %q or %q",
			s.Shape, Constant, Linear, Cosine, Stepwise)
	case stepwise != (s.Every > 0):
		return fmt.Errorf("dpsgd: Config.Schedule.Every is for the shape %q, which needs it", Stepwise)
	case stepwise != (s.Factor > 0):
		return fmt.Errorf("dpsgd: Config.Schedule.Factor is for the shape %q, which needs it", Stepwise)
	case !final && s.Final != 0:
		return fmt.Errorf("dpsgd: Config.Schedule.Final is for the shapes %q and %q", Linear, Cosine)
	}
	return nil
}

func (s Schedule) share(step, steps int) float64 {
	if step < s.Warmup {
		return float64(step+1) / float64(s.Warmup)
	}
	at, last := step-s.Warmup, steps-1-s.Warmup
	t := 1.0
	if last > 0 {
		t = float64(at) / float64(last)
	}
	switch s.Shape {
	case Linear:
		return (1 - t) + t*s.Final
	case Cosine:
		return s.Final + (1-s.Final)*(1+math.Cos(math.Pi*t))/2
	case Stepwise:
		return math.Pow(s.Factor, float64(at/s.Every))
	}
	return 1
}

func (c Config) rate(step int) float64 {
	return c.LearningRate * c.Schedule.share(step, c.TotalSteps())
}
