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

const (
	GNMax          = "pate/gnmax"
	ConfidentGNMax = "pate/confident-gnmax"
	SampledKNN     = "pknn/sampled" // private k-NN: the nearest rows of a Poisson sample of the private rows vote
	ReverseKNN     = "pknn/reverse" // every private row votes on the queries nearest to the row
	DPSGD          = "dpsgd/linear"
	NonPrivate     = "non-private"         // the model of DP-SGD without privacy
	BoostedTrees   = "non-private/trees"   // boosted trees on all private rows
	Majority       = "majority-class"      // always the most frequent class of the private rows
	Plurality      = "ensemble/plurality"  // plurality of the teachers' votes on the test rows, without noise
	TrueLabels     = "student/true-labels" // student trained on the true labels of the same queries
)

// These methods need silos (dataset.Task.Silos).
const (
	oneSilo  = "pknn/one-silo" // pknn/reverse in each silo by itself
	allSilos = "pknn/silos"    // pknn/reverse with counts of silos, which are added
)

const (
	MStab     = "pate/m-stab"
	StableSVT = "pate/stable-svt"
	MSvec     = "pate/m-svec"
)

// OnRequest returns all methods that are not in Methods(). By default, a task with silos also uses two of
// these methods, pknn/one-silo and pknn/silos.
func OnRequest() []string { return append(votesOnRequest(), oneSilo, allSilos) }

func votesOnRequest() (methods []string) {
	for _, d := range mechanisms.All() {
		if m := methodOf(d); !d.Predicts && m != GNMax && m != ConfidentGNMax {
			methods = append(methods, m)
		}
	}
	return methods
}

// Methods returns the default methods. Boosted trees run only on tables.
func Methods() []string {
	return []string{GNMax, ConfidentGNMax, SampledKNN, ReverseKNN, DPSGD, NonPrivate, BoostedTrees, Plurality, TrueLabels, Majority}
}

func voteMethods() []string { return append([]string{GNMax, ConfidentGNMax}, votesOnRequest()...) }

func ensembleMethods() []string { return append(voteMethods(), Plurality, TrueLabels) }

func allMethods() []string {
	return slices.Concat([]string{oneSilo}, voteMethods(), []string{allSilos}, Methods()[2:])
}

// Config describes a comparison. Task, Epsilons, Delta and Key are required.
type Config struct {
	Task dataset.Task
	// Epsilons are the targets, positive and distinct. Every private method has a separate run and budget for
	// each target.
	Epsilons []float64
	Delta    float64 // in (0, 1/number of private units)
	Seeds    int     // independent runs; default 1
	Methods  []string
	Learner  string // the teachers' learner, one of Learners(); default depends on the kind of data
	// Features is one of features.Names(), for all methods. By default teachers use deskewed-hog for
	// handwriting, hog for pictures and raw for tables. By default DP-SGD uses the features of its recipe.
	// Features that are learned from private rows are charged.
	Features string
	Teachers int // default depends on the number of private units; silos have the same number of teachers each
	// Pool, if set, is PoolMarginals or PoolTree: the pool is drawn from noisy counts of the private rows.
	// Methods that use a drawn pool are charged for the counts. Task must then have declared ranges.
	Pool string
	// Unit is the name of the privacy unit, such as "patient"; default "record".
	Unit string

	// Curves enables [Row.Curve], and trains three more students for each method with teachers.
	Curves bool

	// Typical, if not nil, adds Bayesian figures of package typical to the rows of DP-SGD.
	Typical *typical.Config

	Key rng.Key
	// Dir is an existing folder for votes, checkpoints and ledgers. An interrupted run resumes from Dir.
	Dir string

	Workers int // default GOMAXPROCS
	// Progress is called from one goroutine at a time. Stages of concurrent methods may alternate.
	Progress func(Progress)

	// Cache stores expensive features of DP-SGD. If Cache is nil, features are computed for each model.
	Cache *features.Cache

	// Spare, if not nil, is called before DP-SGD, whose features take most memory, and restore after it.
	Spare func(dataset.Task) (restore func())

	// Hash returns the hash of Task. If Hash is nil, Compare computes the hash.
	Hash func() [32]byte

	units int    // number of units of Task.Private
	named string // Features as given; empty for the default of each method
	drawn *drawn // the drawn and charged pool of one target; nil for any other pool
}

type point struct {
	Config
	epsilon float64
	answers int             // number of answers that a mechanism plans for
	pool    *marginals.Pool // source of the pool; may be nil
	plans   *sync.Map       // plans of methods, each made once; see once
}

type Progress struct {
	Stage       string
	Done, Total int
}

// ErrConfig matches every error about a field of a Config. After such an error, nothing was run.
var ErrConfig = errors.New("experiments: bad Config")

// Validate returns an error for the first field that is missing or out of range. Too many private rows per
// teacher are also an error. Validate does not check Key and Dir. Validate reads only public values of Task
// and the number of private rows.
func (c Config) Validate() error {
	_, err := c.withDefaults()
	return err
}

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
	switch {
	case len(c.Methods) == 0 && c.Task.Silos != nil:
		c.Methods = []string{oneSilo, GNMax, allSilos, ReverseKNN, DPSGD}
	case len(c.Methods) == 0:
		c.Methods = slices.DeleteFunc(Methods(), func(m string) bool {
			return m == BoostedTrees && c.Task.Encoder == nil || m == TrueLabels && c.Task.Questions != nil
		})
	}
	switch {
	case !slices.Contains([]string{"", PoolMarginals, PoolTree}, c.Pool):
		return c, fmt.Errorf("there is no Pool %q", c.Pool)
	case c.counted() && c.Task.Ranges == nil:
		return c, errors.New("noisy counts need declared ranges of all columns")
	case c.Task.Questions != nil && c.wants(TrueLabels):
		return c, fmt.Errorf("method %s: nobody knows the labels of questions that are drawn", TrueLabels)
	case c.Task.Silos == nil && c.wants(oneSilo, allSilos):
		return c, fmt.Errorf("methods %s and %s need silos: name their column (--silos)", oneSilo, allSilos)
	case c.Task.Silos != nil && c.Task.Ranges != nil:
		return c, errors.New("silos vote at public rows, not at a drawn pool")
	case len(c.Task.Silos) > n:
		return c, fmt.Errorf("%d silos for %d private units", len(c.Task.Silos), n)
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
	// If a teacher refused its share, the end of the run would depend on private records. Far below the
	// limit, no teacher does.
	if limit := teachers.MaxKernelRows * 4 / 5; c.Learner == KernelRidge && c.Task.Private.Len()/c.teachers() > limit {
		return c, fmt.Errorf("%d teachers have %d records each; kernel ridge takes up to %d, so use more teachers or another learner",
			c.teachers(), c.Task.Private.Len()/c.teachers(), limit)
	}
	if test := c.Task.Test; c.Task.Image.Rows == 0 && test.Len() > mostTested {
		some, err := test.Sample(mostTested / float64(test.Len()))
		if err != nil {
			return c, err
		}
		if some.Len() >= mostTested/2 { // a few units may have most of the rows
			c.Task.Test, c.Hash = some, nil
		}
	}
	if c.Hash == nil {
		c = c.with(c.Task)
	}
	return c, nil
}

// mostTested limits the test rows of a table, because every teacher votes on each row. With 20,000
// independent rows, the standard error of an accuracy is at most about 0.35 %.
const mostTested = 20_000

func (c Config) with(task dataset.Task) Config {
	c.Task, c.Hash = task, sync.OnceValue(task.Hash)
	return c
}

func (c Config) wants(methods ...string) bool {
	return slices.ContainsFunc(methods, func(m string) bool { return slices.Contains(c.Methods, m) })
}

const (
	KernelRidge = training.KernelRidge
	KNN         = training.KNN
)

func Learners() []string { return training.Learners() }

func fingerprint(l teachers.Learner) [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "pate checkpoint 1: %T %+v", l, l))
}

// Identity holds all inputs of a run except the key. Identity is the Settings of a [run.Identity].
type Identity struct {
	Data     string    `json:"data"`
	Split    string    `json:"split"`
	Epsilon  float64   `json:"epsilon"`
	Delta    float64   `json:"delta"`
	Epsilons []float64 `json:"epsilons,omitempty"` // if there are several
	Seeds    int       `json:"seeds"`
	Seed     string    `json:"seed,omitempty"` // for a seeded run
	Learner  string    `json:"learner"`
	// Features, Teachers and Methods are values set by the user. An empty value means the default.
	Features string   `json:"features,omitempty"`
	Teachers int      `json:"teachers,omitempty"`
	Methods  []string `json:"methods,omitempty"`
	// Without public rows, Pool is the kind of artificial pool, and Ranges is the file of declared ranges.
	Pool    string `json:"pool,omitempty"`
	Ranges  string `json:"ranges,omitempty"`
	Silos   string `json:"silos,omitempty"` // column
	Quick   bool   `json:"quick,omitempty"`
	Typical string `json:"bayes,omitempty"` // figures for a typical record
}
