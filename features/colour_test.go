package features

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dataset"
)

func TestColour(t *testing.T) {
	e := colour{Of: Raw{}}
	grey, colour := dataset.Shape{Rows: 8, Cols: 8}, dataset.Shape{Rows: 8, Cols: 8, Channels: 3}
	require.Equal(t, 64, e.Dim(grey))
	require.Equal(t, 64+48, e.Dim(colour))
	require.Zero(t, e.Dim(dataset.Shape{Rows: 3, Cols: 8, Channels: 3}))
	img := make([]float32, 3*64)
	for i := range 64 {
		img[i] = 1 // red
	}
	img[64] = 0.8 // green in a corner
	out := make([]float32, e.Dim(colour))
	e.Extract(out, img, colour)
	require.InDelta(t, 0.299+0.587*0.8, out[0], 1e-6)
	require.InDelta(t, 0.299, out[1], 1e-6)
	for i, v := range out[64:80] {
		require.InDelta(t, 1, v, 1e-6, "red, cell %d", i)
	}
	require.InDelta(t, 0.2, out[80], 1e-6, "a quarter of the first cell")
	require.Zero(t, out[96])
	for _, name := range []string{NameHOG, NameDeskewedHOG, NameDeskewed, NamePixels} {
		named, err := Named(name, colour)
		require.NoError(t, err)
		require.NotZero(t, named.Dim(colour), name)
	}
}
