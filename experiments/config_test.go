package experiments

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

func TestCompareRefusesBadConfigs(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"epsilon 0":    {func(c *Config) { c.Epsilons = []float64{0} }, "epsilon"},
		"epsilon NaN":  {func(c *Config) { c.Epsilons = []float64{1, math.NaN()} }, "epsilon"},
		"epsilon inf":  {func(c *Config) { c.Epsilons = []float64{math.Inf(1)} }, "epsilon"},
		"no epsilon":   {func(c *Config) { c.Epsilons = nil }, "no epsilon"},
		"twice":        {func(c *Config) { c.Epsilons = []float64{2, 1, 2} }, "twice"},
		"delta 1/n":    {func(c *Config) { c.Delta = 1.0 / 3000 }, "one over the number"},
		"delta NaN":    {func(c *Config) { c.Delta = math.NaN() }, "delta"},
		"no key":       {func(c *Config) { c.Key = rng.Key{} }, "Key"},
		"no folder":    {func(c *Config) { c.Dir = "" }, "Dir"},
		"seeds":        {func(c *Config) { c.Seeds = -1 }, "seeds"},
		"teachers":     {func(c *Config) { c.Teachers = 3001 }, "teachers"},
		"method":       {func(c *Config) { c.Methods = []string{"magic"} }, `"magic"`},
		"learner":      {func(c *Config) { c.Learner = "magic" }, `"magic"`},
		"features":     {func(c *Config) { c.Features = "magic" }, `"magic"`},
		"hog of table": {func(c *Config) { c.Features = features.NameHOG }, "not images"},
		"no records":   {func(c *Config) { c.Task.Private = dataset.Set{} }, "no private records"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t, t.TempDir())
			c.change(&cfg)
			require.ErrorContains(t, testkit.Err(Compare(context.Background(), cfg)), c.want)
		})
	}
}
