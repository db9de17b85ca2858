package plain

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// Kernel is regression on the Gaussian kernel with landmarks:
//
//	z = min(Limit, max(-Limit, (x - Centre)·Scale)) · Directions
//	score of class c = Intercept_c + Σ_j exp(-Gamma |z - Landmark_j|²) Coefficients_jc
//
// Without Centre, z is x.
type Kernel struct {
	Classes      []int       `json:"classes"`              // of each column of Coefficients; others score 0
	Centre       []float64   `json:"centre,omitempty"`     // of each feature
	Scale        float64     `json:"scale,omitempty"`      // of all
	Limit        float64     `json:"limit,omitempty"`      // of what is far from all landmarks
	Directions   [][]float64 `json:"directions,omitempty"` // features x components
	Gamma        float64     `json:"gamma"`
	Landmarks    [][]float64 `json:"landmarks"`    // each of as many components
	Coefficients [][]float64 `json:"coefficients"` // landmarks x classes
	Intercept    []float64   `json:"intercept"`
}

func (k *Kernel) check(features, classes int) error {
	if err := checkClasses(k.Classes, classes); err != nil {
		return err
	}
	width := features
	if k.Centre != nil || k.Directions != nil {
		if len(k.Directions) == 0 || len(k.Directions[0]) == 0 {
			return errors.New("directions: none")
		}
		width = len(k.Directions[0])
		if err := errors.Join(checkNumbers("centre", k.Centre, features), checkMatrix("directions", k.Directions, features, width)); err != nil {
			return err
		}
		if !mathx.IsFinite(k.Scale) || !(k.Limit > 0) || !mathx.IsFinite(k.Limit) {
			return fmt.Errorf("scale %v and limit %v", k.Scale, k.Limit)
		}
	}
	if !(k.Gamma >= 0) || math.IsInf(k.Gamma, 1) || len(k.Landmarks) == 0 {
		return fmt.Errorf("gamma %v and %d landmarks", k.Gamma, len(k.Landmarks))
	}
	return errors.Join(checkMatrix("landmarks", k.Landmarks, len(k.Landmarks), width),
		checkMatrix("coefficients", k.Coefficients, len(k.Landmarks), len(k.Classes)), checkNumbers("intercept", k.Intercept, len(k.Classes)))
}
