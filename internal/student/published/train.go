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

// Config says what a student is trained on. Nothing of it is private.
type Config struct {
	Schema *dataset.Schema // how the pool was read
	Pool   dataset.Pool    // public rows
	Labels Labels          // of its rows
	// Provenance adds what is known of the labels' cost. Asked, Released and SHA256 are
	// those of Labels; a seed makes it not releasable.
	Provenance Provenance
	Progress   func(student.Progress) // nil is fine
}

// minSide is the smallest image side for gradient features.
const minSide = 8

// featuresOf names the features of rows: those that `pate compare` takes.
func featuresOf(s *dataset.Schema) string {
	switch {
	case s.Image.Rows < minSide || s.Image.Cols < minSide || s.Image.Channels > 1:
		return features.NamePixels
	case s.Kind == dataset.Handwriting:
		return features.NameDeskewedHOG
	}
	return features.NameHOG
}

// Train trains the student that cross-validation on the released labels keeps. Without any
// label the error matches [student.ErrNoLabels]. The same configuration gives the same
// model.
func Train(ctx context.Context, c Config) (*Model, error) {
	if c.Schema == nil || len(c.Labels.Of) != c.Pool.Len() {
		return nil, errors.New("published: Config.Schema is nil, or Labels are of another pool")
	}
	m := &Model{Card: Card{Schema: SchemaModel, Classes: c.Labels.Classes, Rows: c.Schema, Features: featuresOf(c.Schema), Labels: c.Provenance}}
	m.Labels.Asked, m.Labels.Released, m.Labels.SHA256 = c.Labels.Asked, c.Labels.Released, c.Labels.SHA256
	m.Labels.Releasable = m.Labels.Releasable && !c.Labels.Withheld
	extractor, x, err := extract(ctx, c.Schema, c.Pool)
	if err != nil {
		return nil, err
	}
	m.Extractor, m.Columns = extractor.Name(), columns(extractor, c.Schema)
	choice, err := student.Learn(ctx, x, c.Labels.Of, len(c.Labels.Classes), student.LearnerConfig{Images: c.Schema.Image.Rows > 0, Progress: c.Progress}, stream(c.Labels))
	if err != nil {
		return nil, fmt.Errorf("published: %w", err)
	}
	m.Kind = choice.Kept
	if len(choice.Right) > 0 {
		m.HeldBack = HeldBack{Labels: choice.Labels, Right: choice.RightOfKept()}
	}
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

// extract makes the features of the rows of a pool.
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

// Questions returns n different rows of a pool that a student learns most from when their
// labels are known, as [student.Select] chooses them. The same public rows give the same
// questions on machines of one kind.
func Questions(ctx context.Context, s *dataset.Schema, p dataset.Pool, n int, report func(student.Progress)) ([]int, error) {
	_, x, err := extract(ctx, s, p)
	if err != nil {
		return nil, err
	}
	hash := p.Hash()
	rnd := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(hash[:]), binary.LittleEndian.Uint64(hash[8:])))
	return student.Select(ctx, x, n, report, rnd)
}

// stream returns the random numbers of a training, which follow from the labels.
func stream(l Labels) *rand.Rand {
	h := sha256.New()
	h.Write([]byte("pate student 1"))
	for _, class := range l.Of {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(class)))
	}
	sum := h.Sum(nil)
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum), binary.LittleEndian.Uint64(sum[8:])))
}
