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
		{"gnmax", gnmax(40), false}, {"gnmax-integer", gnmax(40), true},
		{"confident", confident(200, 150, 40), false}, {"confident-integer", confident(200, 150, 40), true},
		{"lnmax", lnmax(20), false}, {"lnmax-integer", lnmax(20), true},
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
