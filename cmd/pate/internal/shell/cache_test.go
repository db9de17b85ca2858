package shell

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheCacheTellsOfItsFirstTroubleAlone(t *testing.T) {
	var told []string
	c := FeatureCache(func(text string) { told = append(told, text) })
	c.Warn(errors.New("features: damaged"))
	c.Warn(errors.New("features: damaged too"))
	require.Equal(t, []string{"features: damaged; what the cache lacks is computed"}, told)
}
