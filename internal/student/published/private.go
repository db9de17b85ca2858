package published

import (
	"fmt"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/plain"
)

// Private is a model that learned from private rows itself, under noise that was charged:
// by package dpsgd. No labels stand between the rows and the model.
type Private struct {
	Schema   *dataset.Schema // how rows were read, by public ones
	Kind     string          // of model, for people
	Features string          // of which it is a model
	// Transform makes Features that learned from private rows; nil for others.
	Transform []byte
	// Settings says how those features are made, in full.
	Settings   string
	Model      plain.Model
	Provenance Provenance
}

// OfPrivate returns the model as it is published. What does not fit together is an error.
func OfPrivate(p Private) (*Model, error) {
	m := &Model{Card: Card{Schema: SchemaModel, Kind: []string{p.Kind}, Classes: p.Schema.Classes, Rows: p.Schema, Features: p.Features,
		Extractor: p.Settings, Transform: p.Transform, Labels: p.Provenance}, model: p.Model}
	if p.Transform == nil {
		e, err := features.Named(p.Features, p.Schema.Image)
		if err != nil {
			return nil, fmt.Errorf("published: %w", err)
		}
		m.Extractor = e.Name()
	}
	var err error
	if m.Columns, err = m.restoreFeatures(); err == nil {
		err = m.check()
	}
	if err != nil {
		return nil, fmt.Errorf("published: %w", err)
	}
	return m, nil
}
