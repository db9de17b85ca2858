package charged

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"

	"gonum.org/v1/gonum/blas/blas32"
	"gonum.org/v1/gonum/mat"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dpsgd/moments"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/sealed"
)

// Transform computes features of images from released statistics. A model trained on [Features.Train] needs
// the Transform for new images. A Transform is immutable and contains no private values.
type Transform struct {
	made  Config // only the parts and their settings
	image dataset.Shape
	parts []part
	cols  int
}

type part struct {
	stage     string
	extractor features.Extractor
	from, to  int                // columns from <= j < to
	whitening *moments.Whitening // nil for no whitening
	mean      *moments.Mean      // nil for no mean
}

// ShapeError reports images of another size than the training images.
type ShapeError struct{ Got, Want dataset.Shape }

func (e *ShapeError) Error() string {
	return fmt.Sprintf("charged: images of %dx%d, the features were made of images of %dx%d",
		e.Got.Rows, e.Got.Cols, e.Want.Rows, e.Want.Cols)
}

const scatteringStage = "scattering"

func newTransform(cfg Config, image dataset.Shape) (*Transform, error) {
	scattering, hog, err := cfg.extractors(image)
	if err != nil {
		return nil, err
	}
	t := &Transform{image: image, made: Config{Scattering: cfg.Scattering, HOG: cfg.HOG, Deskew: cfg.Deskew, Gradients: cfg.gradients()}}
	for _, p := range []part{{stage: scatteringStage, extractor: scattering}, {stage: "oriented gradients", extractor: hog}} {
		if p.extractor != nil {
			p.from, p.to = t.cols, t.cols+p.extractor.Dim(image)
			t.cols = p.to
			t.parts = append(t.parts, p)
		}
	}
	return t, nil
}

// Releasable reports whether all statistics were released with cryptographic noise.
func (t *Transform) Releasable() bool {
	for _, p := range t.parts {
		if p.whitening != nil && !p.whitening.Source.Releasable || p.mean != nil && !p.mean.Source.Releasable {
			return false
		}
	}
	return true
}

// Apply computes the features of every row of set. The features of a row depend only on this row. The
// argument `workers` must be at least 1 and does not change the result. Apply and [Prepare] compute equal
// features for equal images. On machines with the same processor, the features are equal to the last bit.
// Images of another size than the training images give a [*ShapeError]. Pixels that are not finite are an
// error.
func (t *Transform) Apply(ctx context.Context, set dataset.Set, workers int) (blas32.General, error) {
	packed, err := t.pack(ctx, set, Config{Workers: workers})
	if err != nil {
		return blas32.General{}, err
	}
	return packed.Float32(workers), nil
}

func (t *Transform) pack(ctx context.Context, set dataset.Set, how Config) (out features.SideBySide, err error) {
	for i := range t.parts {
		p := &t.parts[i]
		x, err := t.extract(ctx, p, set, how)
		if err == nil {
			err = p.whiten(x, how.Workers)
		}
		if err == nil {
			err = t.finish(p, x, how.Workers)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func (t *Transform) extract(ctx context.Context, p *part, set dataset.Set, how Config) (*features.Packed, error) {
	if set.Image != t.image {
		return nil, &ShapeError{Got: set.Image, Want: t.image}
	}
	pack := features.Pack
	if how.Cache != nil {
		pack = how.Cache.Pack
	}
	x, err := pack(ctx, set, p.extractor, how.Workers)
	if err != nil {
		return nil, fmt.Errorf("charged: %w", err)
	}
	return x, nil
}

func (p *part) whiten(x *features.Packed, workers int) error {
	if p.whitening == nil {
		return nil
	}
	how := fmt.Appendf(nil, "whitening %d\n", p.whitening.Matrix.SymmetricDim())
	how = sealed.Append(how, triangleOf(p.whitening))
	return update(x, workers, how, p.whitening.Apply)
}

func (t *Transform) finish(p *part, x *features.Packed, workers int) error {
	length := math.Sqrt(float64(t.cols) / float64(len(t.parts)))
	how := fmt.Appendf(nil, "norm %x\n", length)
	if p.mean != nil {
		how = sealed.Append(how, p.mean.Vector)
	}
	return update(x, workers, how, func(rows blas32.General) error {
		if p.mean != nil {
			if err := p.mean.Subtract(rows); err != nil {
				return err
			}
		}
		return moments.ScaleRows(rows, length)
	})
}

func update(x *features.Packed, workers int, how []byte, f func(rows blas32.General) error) error {
	if err := x.Update(workers, how, f); err != nil {
		return fmt.Errorf("charged: %w", err)
	}
	return nil
}

// Extraction computes the features of the input rows of a model.
type Extraction struct {
	Transform *Transform
	Fixed     features.Extractor // used if Transform is nil
}

// RestoreExtraction parses the result of Transform.MarshalBinary. If transform is nil, RestoreExtraction uses
// the extractor with the given name. If the settings of this extractor have changed, the result is an error.
func RestoreExtraction(transform []byte, name, settings string, image dataset.Shape) (e Extraction, err error) {
	if transform == nil {
		if e.Fixed, err = features.Named(name, image); err == nil && e.Fixed.Name() != settings {
			err = fmt.Errorf("its features are %q, which are %q in this version", settings, e.Fixed.Name())
		}
		return e, err
	}
	e.Transform = new(Transform)
	if err := e.Transform.UnmarshalBinary(transform); err != nil {
		return e, err
	}
	if got := e.Transform.image; got != image {
		return e, fmt.Errorf("its features are made of images of %dx%d, not %dx%d", got.Rows, got.Cols, image.Rows, image.Cols)
	}
	return e, nil
}

// Columns returns the number of features of an image of the given shape. If the shape is zero, the input is
// a row with the given number of columns.
func (e Extraction) Columns(image dataset.Shape, columns int) int {
	switch {
	case e.Transform != nil:
		return e.Transform.cols
	case image == dataset.Shape{}:
		image = dataset.Shape{Rows: 1, Cols: columns}
	}
	return e.Fixed.Dim(image)
}

// Apply computes the features of the rows of set on all processors.
func (e Extraction) Apply(ctx context.Context, set dataset.Set) (blas32.General, error) {
	if e.Transform != nil {
		return e.Transform.Apply(ctx, set, runtime.GOMAXPROCS(0))
	}
	return features.Apply(ctx, set, e.Fixed, runtime.GOMAXPROCS(0))
}

// Then follow the length of a JSON object in 4 bytes, the object, the float64 numbers of the statistics in
// the order of the object's parts, and a SHA-256 of all of this. A symmetric matrix is stored as its upper
// triangle, row by row.

const transformMagic = "pate private transform 1\n"

// ErrTransform matches every error about an invalid encoding of a [Transform].
var ErrTransform = errors.New("charged: not a transform")

type transformHeader struct {
	Image      dataset.Shape
	Scattering bool
	HOG        bool
	Deskew     bool
	Gradients  features.HOG
	Parts      []partHeader
}

type partHeader struct {
	Extractor string          // name and version
	Whitening *moments.Source `json:",omitempty"`
	Ridge     float64         `json:",omitempty"`
	Mean      *moments.Source `json:",omitempty"`
}

// MarshalBinary encodes t in a few hundred kilobytes, with a check sum.
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

func triangleOf(w *moments.Whitening) (numbers []float64) {
	n := w.Matrix.SymmetricDim()
	for i := range n {
		for j := i; j < n; j++ {
			numbers = append(numbers, w.Matrix.At(i, j))
		}
	}
	return numbers
}

// UnmarshalBinary decodes the result of MarshalBinary. If b is invalid, the error matches [ErrTransform] and
// t does not change. An encoding by a version with different extractors is invalid. Decoding allocates at
// most a small multiple of len(b) bytes.
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

func take(f *sealed.Reader, n int) ([]float64, error) {
	values := sealed.Numbers[float64](f, n)
	for i, v := range values {
		if !mathx.IsFinite(float32(v)) {
			return nil, fmt.Errorf("number %d is not finite", i)
		}
	}
	return values, f.Err()
}
