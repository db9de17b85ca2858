package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dpsgd/nn"
)

// twin and other have the name of the layer that they hold, and may compute something else.
type (
	twin  struct{ nn.Dense }
	other struct{ nn.Dense }
)

type verbose struct{ nn.Dense }

func (verbose) String() string { return "dense 2 | relu" }

func TestFingerprintsTellModelsApart(t *testing.T) {
	d := nn.Dense{Units: 2}
	seen := map[string]int{}
	for i, layers := range [][]nn.Layer{
		{d}, {nn.Dense{Units: 3}}, {twin{d}}, {other{d}}, {&twin{nn.Dense{Units: 3}}},
		{d, twin{d}}, {twin{d}, d}, {twin{d}, twin{d}},
		{verbose{d}}, {d, nn.ReLU{}},
	} {
		m, err := nn.New(nn.Vector(2), nn.CrossEntropy, layers...)
		require.NoError(t, err)
		require.NotContains(t, seen, string(m.Fingerprint()), "model %d", i)
		seen[string(m.Fingerprint())] = i
	}
	value, err := nn.New(nn.Vector(2), nn.CrossEntropy, d)
	require.NoError(t, err)
	pointer, err := nn.New(nn.Vector(2), nn.CrossEntropy, &d)
	require.NoError(t, err)
	require.Equal(t, value.Fingerprint(), pointer.Fingerprint())
}
