package analysis

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkAnalyze is the whole report on 1000 queries of 250 teachers, 10 classes.
func BenchmarkAnalyze(b *testing.B) {
	rows := tallies(readNumbers(b, filepath.Join("testdata", "pate", "counts.csv")))
	for _, c := range []struct {
		name    string
		m       Mechanism
		integer bool
	}{
		{"gnmax", GNMax{40}, false}, {"gnmax-integer", GNMax{40}, true},
		{"confident", ConfidentGNMax{200, 150, 40}, false}, {"confident-integer", ConfidentGNMax{200, 150, 40}, true},
		{"lnmax", LNMax{20}, false}, {"lnmax-integer", LNMax{20}, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				_, err := Analyze(context.Background(), c.m, histograms(rows), Options{Delta: 1e-5, IntegerNoise: c.integer})
				require.NoError(b, err)
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/report")
		})
	}
}
