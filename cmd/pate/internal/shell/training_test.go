package shell

import (
	"errors"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
)

func TestTheCacheTellsOfItsFirstTroubleAlone(t *testing.T) {
	var told []string
	c := FeatureCache(func(text string) { told = append(told, text) })
	c.Warn(errors.New("features: damaged"))
	c.Warn(errors.New("features: damaged too"))
	require.Equal(t, []string{"features: damaged; what the cache lacks is computed"}, told)
}

func TestSpareMemory(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	percent := func(task dataset.Task) int {
		SpareMemory(task)
		return debug.SetGCPercent(100)
	}
	many := dataset.Set{X: dense.New(1, manyPixels/4/2)}
	images := dataset.Shape{Rows: 28, Cols: 28}
	require.Equal(t, 10, percent(dataset.Task{Image: images, Private: many, Test: many}))
	require.Equal(t, 100, percent(dataset.Task{Image: images, Private: many}), "few images")
	require.Equal(t, 100, percent(dataset.Task{Private: many, Test: many}), "a table")
}

func TestCollectAtIsUndone(t *testing.T) {
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	restore := CollectAt(30)
	require.Equal(t, 30, debug.SetGCPercent(40))
	restore()
	require.Equal(t, 77, debug.SetGCPercent(77))
}
