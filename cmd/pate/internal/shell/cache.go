package shell

import (
	"fmt"
	"sync"

	"github.com/pate-go/pate/features"
)

// FeatureCache returns the cache of features in this user's cache folder. The first thing that
// is wrong with it is told and no other: features are then computed, and a line for each time
// would tell how many runs of a search there were, which is private.
func FeatureCache(tell func(text string)) *features.Cache {
	var once sync.Once
	return &features.Cache{Warn: func(err error) {
		once.Do(func() { tell(fmt.Sprintf("%v; what the cache lacks is computed", err)) })
	}}
}
