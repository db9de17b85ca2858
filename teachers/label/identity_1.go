package label

import (
	"fmt"

	"github.com/pate-go/pate/internal/aggregate/mechanisms"
)

// identity1 is an identity in form 1, in which several parameters had one field. It is
// only read. The fields, their order and their tags must not change: the names of key
// files of unfinished runs depend on them.
type identity1 struct {
	Label       int     `json:"label"`
	Pool        string  `json:"pool"`
	Queries     [2]int  `json:"queries"`
	Mechanism   string  `json:"mechanism"`
	Threshold   float64 `json:"threshold,omitempty"`
	Sigma1      float64 `json:"sigma1,omitempty"`
	Sigma       float64 `json:"sigma,omitempty"`
	Scale       float64 `json:"scale,omitempty"`
	B1          float64 `json:"b1,omitempty"`
	Answers     int     `json:"answers,omitempty"`
	Failures    int     `json:"failures,omitempty"`
	Confidence  float64 `json:"confidence,omitempty"`
	Teachers    int     `json:"teachers,omitempty"`
	Classes     int     `json:"classes"`
	Votes       string  `json:"votes"`
	Predictions string  `json:"predictions,omitempty"`
	Seeded      bool    `json:"seeded,omitempty"`
	Key         string  `json:"key"`
}

// parseIdentity1 reads form 1.
func parseIdentity1(name string) (identity, error) {
	var old identity1
	if err := strictly(name, &old); err != nil {
		return identity{}, err
	}
	d, err := mechanisms.Find(old.Mechanism)
	if err != nil {
		return identity{}, err
	}
	id := identity{
		Label: old.Label, Pool: old.Pool, Queries: old.Queries, Mechanism: old.Mechanism, Parameters: map[string]float64{},
		Teachers: old.Teachers, Classes: old.Classes, Votes: old.Votes, Predictions: old.Predictions, Seeded: old.Seeded, Key: old.Key,
		oldName: name,
	}
	fields := map[string]float64{
		"threshold": old.Threshold, "sigma1": old.Sigma1, "sigma": old.Sigma, "sigma2": old.Sigma,
		"scale": old.Scale, "lambda": old.Scale, "b1": old.B1, "b2": old.Scale,
		"answers": float64(old.Answers), "failures": float64(old.Failures), "confidence": old.Confidence,
	}
	for _, p := range d.Parameters {
		// Noise and caps are never 0; of two noises one was left out.
		if v := fields[p.Name]; v != 0 || p.Kind == "threshold" || p.Kind == "share" {
			id.Parameters[p.Name] = v
		}
	}
	old.Key = ""
	id.oldTag = tagOf(fmt.Appendf(nil, "%+v", old))
	return id, nil
}
