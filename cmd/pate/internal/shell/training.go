package shell

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/dpsgd/typical"
	"github.com/pate-go/pate/teachers/votes"
)

// UnitFlags adds the flags of a private model about its units.
func UnitFlags(flags *pflag.FlagSet, size, rows *int) {
	Declare(flags, "units", To{"size": size, "rows-per-unit": rows})
}

// CheckTeachers checks how many teachers were asked for, and the declared number of units
// that it may follow from.
func CheckTeachers(given func(string) bool, teachers, size int) error {
	if given("teachers") && (teachers < 2 || teachers > votes.MaxTeachers) {
		return fmt.Errorf("--teachers %d: must be from 2 to %d; left out, it follows from --size, or is 100", teachers, votes.MaxTeachers)
	}
	return checkSize(given, size)
}

func checkSize(given func(string) bool, size int) error {
	if given("size") && (size < 2 || size > math.MaxInt32) {
		return fmt.Errorf("--size %d: must be a number of units, at least 2", size)
	}
	return nil
}

// CheckUnits refuses numbers out of range.
func CheckUnits(given func(string) bool, size, rows int) error {
	if err := checkSize(given, size); err != nil {
		return err
	}
	if rows < 1 || rows > dpsgd.MaxRows {
		return fmt.Errorf("--rows-per-unit %d: must be from 1 to %d", rows, dpsgd.MaxRows)
	}
	return nil
}

// SayRecords prints the public number of units.
func SayRecords(g *Globals, cfg recipe.Config) {
	n := cfg.Shape().Records
	if cfg.Records > 0 {
		g.Logf("units: %d, as declared", n)
		return
	}
	g.Logf("units: %d, a number that the noise and what is said of the model will tell; --size says another one in its place", n)
}

// SayRows prints the number of rows of a unit that are trained on.
func SayRows(g *Globals, cfg recipe.Config) {
	if cfg.RowsPerUnit <= 1 {
		g.Logf("rows of one %s: the first alone; --rows-per-unit takes more, at the same epsilon", cfg.Unit)
		return
	}
	g.Logf("rows of one %s: up to %d, as given; their gradients are averaged and count as one, so epsilon is for all of them", cfg.Unit,
		cfg.RowsPerUnit)
}

// TypicalFlags ask for Bayesian figures beside epsilon.
type TypicalFlags struct {
	on      bool
	delta   float64
	between string
	most    int
}

// Add adds the flags to a command.
func (f *TypicalFlags) Add(cmd *cobra.Command) {
	Declare(cmd.Flags(), "bayes", To{"bayes": &f.on, "bayes-delta": &f.delta, "bayes-distances": &f.between,
		"bayes-samples": &f.most})
}

// TypicalNames returns the names of the flags.
func TypicalNames() []string {
	return []string{"bayes", "bayes-delta", "bayes-distances", "bayes-samples"}
}

// Read returns the configuration, nil without --bayes.
func (f *TypicalFlags) Read(cmd *cobra.Command) (*typical.Config, error) {
	c, err := f.read(cmd.Flags().Changed)
	if err != nil {
		return nil, UsageError("bayes", err)
	}
	return c, nil
}

func (f *TypicalFlags) read(given func(string) bool) (*typical.Config, error) {
	if !f.on {
		for _, name := range TypicalNames()[1:] {
			if given(name) {
				return nil, fmt.Errorf("--%s is for --bayes", name)
			}
		}
		return nil, nil
	}
	c := &typical.Config{Delta: f.delta, Most: f.most}
	if f.between == dpsgd.Records.String() {
		c.Between = dpsgd.Records
	}
	if !(f.delta > 0 && f.delta < 1) {
		return nil, fmt.Errorf("--bayes-delta %v: must lie between 0 and 1", f.delta)
	}
	if f.most < 0 || f.most == 1 {
		return nil, errors.New("--bayes-samples: at least 2")
	}
	return c, nil
}

// FeatureCache returns the cache of features in this user's cache folder. Only its first fault is reported: a
// line for each would show the number of runs of a search, which is private.
func FeatureCache(tell func(text string)) *features.Cache {
	var once sync.Once
	return &features.Cache{Warn: func(err error) {
		once.Do(func() { tell(fmt.Sprintf("%v; what the cache lacks is computed", err)) })
	}}
}

// manyPixels is from how many bytes of images on their features are hundreds of megabytes.
const manyPixels = 64 << 20

// SpareMemory collects garbage early where a task has many images: their features are gigabytes in a few
// pieces without pointers, and collecting them is cheap. The caller must defer the returned function, which
// restores the setting.
func SpareMemory(task dataset.Task) (restore func()) {
	pixels := 0
	for _, set := range []dataset.Set{task.Private, task.Pool, task.Test} {
		pixels += len(set.X.Data)
	}
	if task.Image.Rows > 0 && 4*pixels >= manyPixels {
		return CollectAt(10)
	}
	return func() {}
}

// CollectAt sets the growth in percent after which garbage is collected. The caller must defer the returned
// function, which restores the setting: a process may run many commands.
func CollectAt(percent int) (restore func()) {
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}
