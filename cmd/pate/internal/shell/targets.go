package shell

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/internal/number"
)

// Targets reads the value of --epsilon where it may have several, with commas. They are
// different, finite and above 0, and come back ascending.
func Targets(text string) ([]float64, error) {
	var targets []float64
	for word := range strings.SplitSeq(text, ",") {
		word = strings.TrimSpace(word)
		x, err := strconv.ParseFloat(word, 64)
		switch {
		case strings.TrimSpace(text) == "":
			return nil, errors.New("--epsilon is empty")
		case err != nil || !(x > 0 && x <= math.MaxFloat64):
			return nil, fmt.Errorf("--epsilon %s: must be finite numbers above 0", word)
		case slices.Contains(targets, x):
			return nil, fmt.Errorf("--epsilon %s: it is there twice", word)
		}
		targets = append(targets, x)
	}
	slices.Sort(targets)
	return targets, nil
}

// TargetsText returns what [Targets] reads.
func TargetsText(targets []float64) string {
	words := make([]string, len(targets))
	for i, x := range targets {
		words[i] = number.Exact(x)
	}
	return strings.Join(words, ",")
}
