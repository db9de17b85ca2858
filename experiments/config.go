package experiments

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/aggregate/marginals"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/dpsgd/typical"
	"github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/golearn"
)

// Methods of a comparison, in the order of the table.
const (
	GNMax          = "pate/gnmax"
	ConfidentGNMax = "pate/confident-gnmax"
	SampledKNN     = "pknn/sampled" // private k-NN: the nearest of a Poisson sample of the private rows vote
	ReverseKNN     = "pknn/reverse" // every private row votes at the questions nearest to it
	DPSGD          = "dpsgd/linear"
	NonPrivate     = "non-private"         // the model of DP-SGD without privacy
	BoostedTrees   = "non-private/trees"   // boosted trees on all private rows
	Majority       = "majority-class"      // always the class that most private rows have
	Plurality      = "ensemble/plurality"  // the teachers' vote without noise, on the test rows
	TrueLabels     = "student/true-labels" // the student on the pool's true labels of the same queries
)

// Methods of package stable, which release the unchanged plurality where it is far from changing. For the
// few hundred queries of a comparison they lose to noisy argmax.
const (
	MStab     = "pate/m-stab"
	StableSVT = "pate/stable-svt"
	MSvec     = "pate/m-svec"
)

// OnRequest lists the methods that run only if named: every other mechanism that labels by votes alone.
func OnRequest() []string {
	var methods []string
	for _, d := range mechanisms.All() {
		if m := methodOf(d); !d.Predicts && m != GNMax && m != ConfidentGNMax {
			methods = append(methods, m)
		}
	}
	return methods
}

// Methods lists the default methods; boosted trees run on tables alone.
func Methods() []string {
	return []string{GNMax, ConfidentGNMax, SampledKNN, ReverseKNN, DPSGD, NonPrivate, BoostedTrees, Plurality, TrueLabels, Majority}
}

// voteMethods lists the methods that release labels by votes, in the order of the table.
func voteMethods() []string { return append([]string{GNMax, ConfidentGNMax}, OnRequest()...) }

// ensembleMethods lists the methods that train teachers.
func ensembleMethods() []string { return append(voteMethods(), Plurality, TrueLabels) }

// allMethods lists all methods in the order of the table.
func allMethods() []string { return append(voteMethods(), Methods()[2:]...) }

// Config describes a comparison. Task, Epsilons, Delta and Key are required.
type Config struct {
	Task dataset.Task
	// Epsilons are the targets, > 0 and different: each a run and a budget of its own for every private
	// method.
	Epsilons []float64
	Delta    float64 // in (0, 1/number of private units)
	Seeds    int     // independent runs; default 1
	Methods  []string
	Learner  string // teachers' learner, one of Learners(); default by the kind of data
	// Features is one of features.Names(), for all methods. By default teachers get deskewed-hog for
	// handwriting, hog for pictures and raw for tables, and DP-SGD the features of its recipe, part of
	// which may be learned from private rows and is charged.
	Features string
	Teachers int // default by the number of private units
	// Marginals draws the pool from noisy marginals of the private rows; every method that asks about the
	// pool pays for them. The ranges of Task must be declared.
	Marginals bool
	// Unit names in a word whose data Task.Private.Units are; default "record".
	Unit string

	// Curves asks for [Row.Curve], which takes three more students for each ensemble method of the first
	// seed.
	Curves bool

	// Typical, if not nil, asks for figures of a typical record beside the epsilon of DP-SGD.
	Typical *typical.Config

	// Key is the secret all randomness derives from.
	Key rng.Key
	// Dir keeps votes, checkpoints and ledgers, from which an interrupted run resumes. It must exist.
	Dir string

	Workers int // default GOMAXPROCS
	// Progress is called from one goroutine at a time. Stages of concurrent work take turns.
	Progress func(Progress)

	// Cache keeps expensive features of DP-SGD; nil computes them for each model.
	Cache *features.Cache

	units int             // of Task.Private
	named string          // Features as they were given; empty for the default of each method
	drawn *drawn          // the pool that was drawn and paid for at one target; nil for another pool
	hash  func() [32]byte // of Task, computed once
}

// point is a comparison at one of its targets.
type point struct {
	Config
	epsilon   float64
	answers   int                  // that a mechanism plans for
	marginals *marginals.Marginals // that the pool is drawn from; may be nil
	plans     *sync.Map            // of methods, each made once; see once
}

// Progress is the position of a run.
type Progress struct {
	Stage       string
	Done, Total int
}

// ErrConfig is matched by every error about a field of a Config; nothing was run.
var ErrConfig = errors.New("experiments: bad Config")

// Validate reports the first field that is missing or out of range, Key and Dir apart. It looks at public
// facts only and at the number of private rows, which may be too large for the teachers.
func (c Config) Validate() error {
	_, err := c.withDefaults()
	return err
}

// withDefaults fills in defaults and checks the rest.
func (c Config) withDefaults() (Config, error) {
	full, err := c.complete()
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return full, nil
}

func (c Config) complete() (Config, error) {
	n := c.Task.Private.UnitCount()
	c.units = n
	switch {
	case n == 0:
		return c, errors.New("no private records in Task")
	case len(c.Epsilons) == 0:
		return c, errors.New("no epsilon")
	case c.Seeds < 0:
		return c, fmt.Errorf("seeds %d must be positive", c.Seeds)
	case c.Teachers < 0 || c.Teachers == 1 || c.Teachers > n:
		return c, fmt.Errorf("teachers %d must be between 2 and the %d private units", c.Teachers, n)
	}
	if err := (run.Units{N: n, Noun: "private units"}).Check(c.Delta); err != nil {
		return c, err
	}
	for i, e := range c.Epsilons {
		if !(e > 0) || math.IsInf(e, 1) {
			return c, fmt.Errorf("epsilon %v must be finite and above 0", e)
		}
		if slices.Contains(c.Epsilons[:i], e) {
			return c, fmt.Errorf("epsilon %v twice", e)
		}
	}
	c.Seeds = max(c.Seeds, 1)
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	c.Unit = cmp.Or(c.Unit, "record")
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	c.Progress = inTurn(c.Progress)
	if len(c.Methods) == 0 {
		c.Methods = slices.DeleteFunc(Methods(), func(m string) bool {
			return m == BoostedTrees && c.Task.Encoder == nil || m == TrueLabels && c.Task.Questions != nil
		})
	}
	switch {
	case c.Marginals && c.Task.Ranges == nil:
		return c, errors.New("marginals need declared ranges of all columns")
	case c.Task.Questions != nil && c.wants(TrueLabels):
		return c, fmt.Errorf("method %s: nobody knows the labels of questions that are drawn", TrueLabels)
	}
	for _, m := range c.Methods {
		if all := allMethods(); !slices.Contains(all, m) {
			return c, fmt.Errorf("method %q is not one of %s", m, strings.Join(all, ", "))
		}
	}
	if c.Learner == "" {
		c.Learner, _ = training.DefaultLearner(c.Task.Encoder != nil, c.Task.Image)
	}
	if !slices.Contains(Learners(), c.Learner) {
		return c, fmt.Errorf("learner %q is not one of %s", c.Learner, strings.Join(Learners(), ", "))
	}
	c.named = c.Features
	if c.Features == "" {
		c.Features = training.DefaultFeatures(c.Task.Kind, c.Task.Image, c.Learner)
	}
	if !slices.Contains(features.Names(), c.Features) {
		return c, fmt.Errorf("features %q are not one of %s", c.Features, strings.Join(features.Names(), ", "))
	}
	if _, err := features.Named(c.Features, c.Task.Image); err != nil {
		return c, err
	}
	if c.Learner == KNN {
		if _, err := golearn.NewKNN(1, golearn.Pooling{}); err != nil {
			return c, err
		}
	}
	// A teacher that refuses its share would end the run by the fall of the private records; far below the
	// limit none does.
	if limit := teachers.MaxKernelRows * 4 / 5; c.Learner == KernelRidge && c.Task.Private.Len()/c.teachers() > limit {
		return c, fmt.Errorf("%d teachers have %d records each; kernel ridge takes up to %d, so use more teachers or another learner",
			c.teachers(), c.Task.Private.Len()/c.teachers(), limit)
	}
	return c.with(c.Task), nil
}

// with returns c with another task.
func (c Config) with(task dataset.Task) Config {
	c.Task, c.hash = task, sync.OnceValue(task.Hash)
	return c
}

func (c Config) wants(methods ...string) bool {
	return slices.ContainsFunc(methods, func(m string) bool { return slices.Contains(c.Methods, m) })
}

// Learners of teachers, of package training.
const (
	KernelRidge = training.KernelRidge
	KNN         = training.KNN
)

// Learners lists the names.
func Learners() []string { return training.Learners() }

// fingerprint names a learner and its parameters in a checkpoint.
func fingerprint(l teachers.Learner) [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "pate checkpoint 1: %T %+v", l, l))
}

// Identity is everything a run is a function of, apart from its key: the Settings of a [run.Identity].
type Identity struct {
	Data     string    `json:"data"`
	Split    string    `json:"split"`
	Epsilon  float64   `json:"epsilon"`
	Delta    float64   `json:"delta"`
	Epsilons []float64 `json:"epsilons,omitempty"` // if there are several
	Seeds    int       `json:"seeds"`
	Seed     string    `json:"seed,omitempty"` // of a seeded run
	Learner  string    `json:"learner"`
	// Features, Teachers and Methods as asked for; empty means the default.
	Features string   `json:"features,omitempty"`
	Teachers int      `json:"teachers,omitempty"`
	Methods  []string `json:"methods,omitempty"`
	// Pool is the source of the questions, and Ranges their ranges, where there are no public rows.
	Pool    string `json:"pool,omitempty"`
	Ranges  string `json:"ranges,omitempty"`
	Quick   bool   `json:"quick,omitempty"`
	Typical string `json:"bayes,omitempty"` // figures of a typical record
}
