package charged

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/moments"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/sealed"
)

// A transform is written as a line of magic; the length of a JSON object, 4 bytes; the object; the numbers of
// the statistics in the order of the object; SHA-256 of all before. The numbers are IEEE 754 doubles. A
// symmetric matrix is its upper triangle, row by row. Integers and numbers are little-endian.
const transformMagic = "pate private transform 1\n"

// ErrTransform is matched by every error about bytes that are not a transform as this version writes it.
var ErrTransform = errors.New("charged: not a transform")

// transformHeader holds everything of a transform but the numbers.
type transformHeader struct {
	Image      dataset.Shape
	Scattering bool
	HOG        bool
	Deskew     bool
	Gradients  features.HOG
	Parts      []partHeader
}

type partHeader struct {
	Extractor string          // its name, with its version
	Whitening *moments.Source `json:",omitempty"`
	Ridge     float64         `json:",omitempty"`
	Mean      *moments.Source `json:",omitempty"`
}

// MarshalBinary returns the transform as bytes, a few hundred kilobytes, with a checksum.
func (t *Transform) MarshalBinary() ([]byte, error) {
	h := transformHeader{
		Image: t.image, Scattering: t.made.Scattering, HOG: t.made.HOG, Deskew: t.made.Deskew, Gradients: t.made.Gradients,
	}
	var numbers []float64
	for _, p := range t.parts {
		one := partHeader{Extractor: p.extractor.Name()}
		if w := p.whitening; w != nil {
			one.Whitening, one.Ridge = &w.Source, w.Ridge
			numbers = append(numbers, triangleOf(w)...)
		}
		if p.mean != nil {
			one.Mean = &p.mean.Source
			numbers = append(numbers, p.mean.Vector...)
		}
		h.Parts = append(h.Parts, one)
	}
	head, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("charged: %w", err)
	}
	b := append(binary.LittleEndian.AppendUint32([]byte(transformMagic), uint32(len(head))), head...)
	return sealed.Seal(sealed.Append(b, numbers)), nil
}

// triangleOf returns the upper triangle of a whitening, row by row.
func triangleOf(w *moments.Whitening) (numbers []float64) {
	n := w.Matrix.SymmetricDim()
	for i := range n {
		for j := i; j < n; j++ {
			numbers = append(numbers, w.Matrix.At(i, j))
		}
	}
	return numbers
}

// UnmarshalBinary is the inverse of MarshalBinary. For other bytes it returns an error that matches
// [ErrTransform], and t stays as it was. Also refused is a transform with extractors of another name in this
// version. Memory is bounded by a small multiple of the bytes given and of tables for images of 128 x 128.
func (t *Transform) UnmarshalBinary(b []byte) error {
	read, err := parseTransform(b)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrTransform, err)
	}
	*t = *read
	return nil
}

func parseTransform(b []byte) (*Transform, error) {
	f, err := sealed.Open(b, transformMagic)
	if err != nil {
		return nil, err
	}
	head := f.Bytes(f.Uint(4))
	if err := f.Err(); err != nil {
		return nil, err
	}
	var h transformHeader
	if err := json.Unmarshal(head, &h); err != nil {
		return nil, err
	}
	t, err := h.transform(f)
	if err != nil {
		return nil, err
	}
	return t, f.End()
}

func (h transformHeader) transform(f *sealed.Reader) (*Transform, error) {
	cfg := Config{Scattering: h.Scattering, HOG: h.HOG, Deskew: h.Deskew, Gradients: h.Gradients}
	t, err := newTransform(cfg, h.Image)
	if err != nil {
		return nil, err
	}
	if len(h.Parts) != len(t.parts) {
		return nil, fmt.Errorf("%d parts for %d", len(h.Parts), len(t.parts))
	}
	for i := range t.parts {
		if err := h.Parts[i].restore(&t.parts[i], f); err != nil {
			return nil, fmt.Errorf("%s: %w", t.parts[i].stage, err)
		}
	}
	return t, nil
}

func (h partHeader) restore(p *part, f *sealed.Reader) error {
	if name := p.extractor.Name(); h.Extractor != name {
		return fmt.Errorf("made by %q, which is %q in this version", h.Extractor, name)
	}
	cols := p.to - p.from
	if s := h.Whitening; s != nil {
		n := s.Channels
		if p.stage != scatteringStage || n != features.Channels || s.Positions != cols/n {
			return fmt.Errorf("a whitening of %d channels at %d positions, for %d columns", n, s.Positions, cols)
		}
		triangle, err := take(f, n*(n+1)/2)
		if err != nil {
			return err
		}
		w := mat.NewSymDense(n, nil)
		for i := range n {
			for j := i; j < n; j++ {
				w.SetSym(i, j, triangle[0])
				triangle = triangle[1:]
			}
		}
		p.whitening = &moments.Whitening{Matrix: w, Ridge: h.Ridge, Source: *s}
	}
	if s := h.Mean; s != nil {
		if s.Channels != cols || s.Positions != 1 {
			return fmt.Errorf("a mean of %d x %d columns, for %d", s.Channels, s.Positions, cols)
		}
		vector, err := take(f, cols)
		if err != nil {
			return err
		}
		p.mean = &moments.Mean{Vector: vector, Source: *s}
	}
	return nil
}

// take returns the next n numbers, which are used in single precision.
func take(f *sealed.Reader, n int) ([]float64, error) {
	values := sealed.Numbers[float64](f, n)
	for i, v := range values {
		if !mathx.IsFinite(float32(v)) {
			return nil, fmt.Errorf("number %d is not finite", i)
		}
	}
	return values, f.Err()
}
