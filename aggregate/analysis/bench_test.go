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
	for name, m := range map[string]Mechanism{
		"gnmax": GNMax{40}, "confident": ConfidentGNMax{200, 150, 40}, "lnmax": LNMax{20},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := Analyze(context.Background(), m, histograms(rows), Options{Delta: 1e-5})
				require.NoError(b, err)
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/report")
		})
	}
}
