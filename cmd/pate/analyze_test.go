package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
)

// TestAnalyzeReproducesAPublishedRun: Confident-GNMax on the votes of 250 teachers
// on MNIST, from a file of labels that is teachers x queries.
func TestAnalyzeReproducesAPublishedRun(t *testing.T) {
	votes := filepath.Join("..", "..", "..", "shared", "golden", "pate", "votes", "mnist_regen_250_teachers_labels.npy")
	if _, err := os.Stat(votes); err != nil {
		t.Skipf("the votes are not here: %v", err)
	}
	args := strings.Fields("votes analyze --transpose --classes 10 --mechanism confident --threshold 200 --sigma1 150 --sigma2 40 --delta 1e-5 --queries 0:640")
	var report struct {
		Schema             string
		Private            bool
		Queries            int
		ExpectedAnswered   float64                    `json:"expected_answered"`
		Independent        float64                    `json:"epsilon_data_independent"`
		IndependentClassic float64                    `json:"epsilon_data_independent_classic"`
		Dependent          float64                    `json:"epsilon_data_dependent"`
		DependentClassic   float64                    `json:"epsilon_data_dependent_classic"`
		Sanitized          struct{ Mean, SD float64 } `json:"epsilon_sanitized"`
		Order              float64
	}
	inJSON(t, &report, append(args, votes)...)
	require.Equal(t, "pate.analyze/1", report.Schema)
	require.True(t, report.Private)
	require.Equal(t, 640, report.Queries)
	require.InEpsilon(t, 348.3337880331965, report.ExpectedAnswered, 1e-9)
	require.InEpsilon(t, 3.057614676651289, report.Independent, 1e-9)
	require.InEpsilon(t, 3.5001503557966505, report.IndependentClassic, 1e-9)
	require.InEpsilon(t, 1.2829534533532154, report.Dependent, 1e-9)
	require.InEpsilon(t, 1.5331011096761344, report.DependentClassic, 1e-9)
	require.InEpsilon(t, 1.9668345761607275, report.Sanitized.Mean, 1e-8)
	require.InEpsilon(t, 0.30314359695746473, report.Sanitized.SD, 1e-8)
	require.Equal(t, 17.0, report.Order)
}

// TestDiscreteNoiseBeyondItsLawIsAnInputError: counts too far apart, noise too wide
// to sum over, or none that is drawn.
func TestDiscreteNoiseBeyondItsLawIsAnInputError(t *testing.T) {
	votes := filepath.Join(t.TempDir(), "counts.csv")
	require.NoError(t, os.WriteFile(votes, []byte("100,0,0\n"), 0o600))
	for sigma, why := range map[string]string{"2": "too far apart", "2e6": "too wide", "1e-4": "must be in"} {
		args := strings.Fields("votes analyze --counts --teachers 100 --mechanism gnmax --noise discrete --sigma " + sigma)
		text, errs := typed(t, shell.ExitInvalidInput, append(args, votes)...)
		require.Contains(t, errs, why)
		require.Equal(t, 4, strings.Count(errs, "\n"), errs)
		require.Empty(t, text)
	}
}
