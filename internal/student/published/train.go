package published

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/plain"
	"github.com/pate-go/pate/student"
)

// Config configures the training of a student. No field holds private data.
type Config struct {
	Schema     *dataset.Schema        // how the pool was read
	Pool       dataset.Pool           // public rows
	Labels     Labels                 // labels of the pool
	Provenance Provenance             // cost of the labels; Labels determines Asked, Released and SHA256
	Progress   func(student.Progress) // may be nil
}

func featuresOf(s *dataset.Schema) string {
	if s.Image.Channels > 1 {
		return features.NamePixels
	}
	return features.For(s.Kind, s.Image)
}

// Train trains a student. Cross-validation on the released labels selects the kind of student. Without
// labels the error matches [student.ErrNoLabels]. Equal configurations give equal models.
func Train(ctx context.Context, c Config) (*Model, error) {
	if c.Schema == nil || len(c.Labels.Of) != c.Pool.Len() {
		return nil, errors.New("published: Config.Schema is nil, or Labels are of another pool")
	}
	m := &Model{Card: Card{
		Schema: SchemaModel, Classes: c.Labels.Classes, Rows: c.Schema, Features: featuresOf(c.Schema), Labels: c.Provenance,
	}}
	m.Labels.Asked, m.Labels.Released, m.Labels.SHA256 = c.Labels.Asked, c.Labels.Released, c.Labels.SHA256
	m.Labels.Releasable = m.Labels.Releasable && !c.Labels.Withheld
	extractor, x, err := extract(ctx, c.Schema, c.Pool)
	if err != nil {
		return nil, err
	}
	m.Extractor, m.Columns = extractor.Name(), x.Cols
	learner := student.LearnerConfig{Images: c.Schema.Image.Rows > 0, Progress: c.Progress}
	choice, err := student.Learn(ctx, x, c.Labels.Of, len(c.Labels.Classes), learner, stream(c.Labels))
	if err != nil {
		return nil, fmt.Errorf("published: %w", err)
	}
	m.Kind = choice.Kept
	if len(choice.Right) > 0 {
		m.HeldBack = HeldBack{Labels: choice.Labels, Right: choice.RightOfKept()}
	}
	_, m.HeldBack.MostFrequent = c.Labels.majority()
	m.HeldBack.Doubt = m.Doubt(c.Labels)
	described, ok := choice.Model.(plain.Describer)
	if !ok {
		return nil, errors.New("published: the student cannot be written down")
	}
	m.model = *described.Plain()
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("published: %w", err)
	}
	return m, nil
}

func extract(ctx context.Context, s *dataset.Schema, p dataset.Pool) (features.Extractor, student.Matrix, error) {
	e, err := features.Named(featuresOf(s), s.Image)
	if err != nil {
		return nil, student.Matrix{}, fmt.Errorf("published: %w", err)
	}
	x, err := features.Apply(ctx, dataset.Set{Name: p.Name, X: p.X, Image: p.Image}, e, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, student.Matrix{}, fmt.Errorf("published: %w", err)
	}
	return e, x, nil
}

// Questions returns n different rows of a pool as queries, chosen by [student.Select]. On one type of
// processor, equal public rows give equal queries.
func Questions(ctx context.Context, s *dataset.Schema, p dataset.Pool, n int, report func(student.Progress)) ([]int, error) {
	_, x, err := extract(ctx, s, p)
	if err != nil {
		return nil, err
	}
	return student.Select(ctx, x, n, report, rand.New(sourceOf(p)))
}

func sourceOf(p dataset.Pool) rand.Source {
	hash := p.Hash()
	return rand.NewPCG(binary.LittleEndian.Uint64(hash[:]), binary.LittleEndian.Uint64(hash[8:]))
}

func stream(l Labels) *rand.Rand {
	h := sha256.New()
	h.Write([]byte("pate student 1"))
	for _, class := range l.Of {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(class)))
	}
	sum := h.Sum(nil)
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum), binary.LittleEndian.Uint64(sum[8:])))
}

const nearlyAll = 0.95

// Doubt returns a warning if the model may be no better than a constant prediction of the most frequent
// class. Otherwise Doubt returns "". It warns if nearly all labels are of this class, or if the constant
// prediction is right more often than the student in cross-validation. The text depends only on released and
// public data.
func (m *Model) Doubt(l Labels) string {
	class, most := l.majority()
	held := m.HeldBack
	switch {
	case l.Released == 0:
		return ""
	case float64(most) >= nearlyAll*float64(l.Released):
		return fmt.Sprintf("%d of %d released labels are %q: the student has next to nothing to learn the other classes from; "+
			"release more labels, or ask rows among which they are less rare",
			most, l.Released, l.Classes[class])
	case held.Labels > 0 && int64(held.Right)*int64(l.Released) < int64(most)*int64(held.Labels):
		return fmt.Sprintf("the student predicted %d of %d labels held back, and %d of %d released labels are %q: "+
			"always saying so would be right more often; release more labels",
			held.Right, held.Labels, most, l.Released, l.Classes[class])
	}
	return ""
}

func (l Labels) majority() (class, most int) {
	count := make([]int, len(l.Classes))
	for _, c := range l.Of {
		if c == student.Unlabelled {
			continue
		}
		if count[c]++; count[c] > most || count[c] == most && c < class {
			class, most = c, count[c]
		}
	}
	return class, most
}
