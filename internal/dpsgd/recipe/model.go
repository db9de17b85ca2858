package recipe

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/dpsgd/charged"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/internal/sealed"
	"github.com/pate-go/pate/rng"
)

const (
	Linear = "linear" // softmax regression
	CNN    = "cnn"    // the small network of DP-SGD tutorials, on pixels
)

const mlp = "mlp"

func Models() []string { return []string{Linear, mlp + ":WIDTH[,WIDTH...]", CNN} }

const maxWidth, maxDepth = 1 << 14, 16

func (r Recipe) newModel(s Shape, columns int, key rng.Key) (*nn.Model, error) {
	rnd := rand.New(key.Derive("initial").Stream())
	widths, err := r.widths()
	switch {
	case err != nil:
		return nil, err
	case r.Model == Linear:
		return nn.NewSoftmax(columns, s.Classes)
	case r.Model == CNN && r.Features != features.NamePixels:
		return nil, fmt.Errorf("model %q is for pixels: features %q, not %q", CNN, features.NamePixels, r.Features)
	case r.Model == CNN && s.Image.Rows == 0:
		return nil, fmt.Errorf("model %q is for images, and these rows are not", CNN)
	case r.Model == CNN:
		return nn.NewTutorialCNN(nn.Image(s.Image.Rows, s.Image.Cols, 1), s.Classes, rnd)
	}
	return nn.NewMLP(columns, widths, s.Classes, rnd)
}

func (r Recipe) widths() ([]int, error) {
	if r.Model == Linear || r.Model == CNN {
		return nil, nil
	}
	kind, words, given := strings.Cut(r.Model, ":")
	if kind != mlp || !given {
		return nil, fmt.Errorf("model %q is not one of %s", r.Model, strings.Join(Models(), ", "))
	}
	var widths []int
	for _, word := range strings.Split(words, ",") {
		width, err := strconv.Atoi(word)
		if err != nil || width < 1 || width > maxWidth {
			return nil, fmt.Errorf("model %q: width %q must be from 1 to %d", r.Model, word, maxWidth)
		}
		if widths = append(widths, width); len(widths) > maxDepth {
			return nil, fmt.Errorf("model %q: more than %d hidden layers", r.Model, maxDepth)
		}
	}
	return widths, nil
}

const shift = 2

func (r Recipe) trained(m *nn.Model, s Shape, key rng.Key) (dpsgd.Model, error) {
	switch {
	case r.Views < 0:
		return nil, fmt.Errorf("%d views of an image", r.Views)
	case r.Views <= 1:
		return m, nil
	case s.Image.Rows <= shift || s.Image.Cols <= shift || r.Features != features.NamePixels:
		return nil, fmt.Errorf("views are of images, and for features %q", features.NamePixels)
	}
	move := dpsgd.Shift{Planes: 1, Rows: s.Image.Rows, Cols: s.Image.Cols, By: shift}
	return dpsgd.Augment(m, r.Views, move, key.Derive("views").Stream().Uint64())
}

func (row *Row) score(ctx context.Context, m *nn.Model, x dpsgd.Data, labels []int, classes int) error {
	if len(labels) == 0 {
		return nil
	}
	predicted := make([]int, len(labels))
	if err := m.Predict(ctx, predicted, x); err != nil {
		return wrapped(err)
	}
	row.Accuracy, row.Recall = scores.Accuracy(predicted, labels), scores.Recall(predicted, labels, classes)
	row.Predicted = [][]int{predicted}
	return nil
}

func area(ctx context.Context, m *nn.Model, x dpsgd.Data, labels []int, classes int) (*float64, error) {
	if classes != 2 {
		return nil, nil
	}
	outputs := dense.New(len(labels), classes)
	if len(labels) > 0 {
		if err := m.Logits(ctx, outputs, x); err != nil {
			return nil, wrapped(err)
		}
	}
	return scores.AUROC(outputs, labels), nil
}

// Then follow the lengths of three parts (8 bytes each, little-endian), the parts, and the SHA-256 of all of
// this. The parts are a [Card] in JSON, the encoding of a charged.Transform (empty for features without
// statistics), and the network in the format of package nn.

const (
	modelMagic = "pate model 1\n"
	modelParts = 3
)

const maxModelFile = 1<<32 + 1<<28

// ErrModelFile matches every error about a file that is not a valid model file.
var ErrModelFile = errors.New("not a valid model file")

func (m *Model) bytes() ([]byte, error) {
	card, err := json.Marshal(m.Card)
	if err != nil {
		return nil, wrapped(err)
	}
	var transform []byte
	if m.made.Transform != nil {
		if transform, err = m.made.Transform.MarshalBinary(); err != nil {
			return nil, wrapped(err)
		}
	}
	var network bytes.Buffer
	if err := m.network.Save(&network); err != nil {
		return nil, wrapped(err)
	}
	parts := [modelParts][]byte{card, transform, network.Bytes()}
	b := []byte(modelMagic)
	for _, part := range parts {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(part)))
	}
	for _, part := range parts {
		b = append(b, part...)
	}
	return sealed.Seal(b), nil
}

// OpenModel reads a model file that [Run] wrote. If the file is invalid, the error matches [ErrModelFile].
// The memory is bounded by a small multiple of the file size.
func OpenModel(path string) (*Model, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, wrapped(err)
	}
	refuse := func(err error) (*Model, error) { return nil, fmt.Errorf("%s is %w: %w", path, ErrModelFile, err) }
	switch {
	case !info.Mode().IsRegular(): // opening a pipe would wait for a writer
		return refuse(errors.New("it is no regular file"))
	case info.Size() > maxModelFile:
		return refuse(errors.New("it is too long"))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, wrapped(err)
	}
	defer f.Close()
	magic := make([]byte, len(modelMagic))
	if _, err := io.ReadFull(f, magic); err != nil || string(magic) != modelMagic {
		return refuse(sealed.ErrKind)
	}
	b := make([]byte, info.Size())
	copy(b, magic)
	if _, err := io.ReadFull(f, b[len(magic):]); err != nil {
		return nil, wrapped(err)
	}
	m, err := parseModel(b)
	if err != nil {
		return refuse(err)
	}
	return m, nil
}

func parseModel(b []byte) (*Model, error) {
	f, err := sealed.Open(b, modelMagic)
	if err != nil {
		return nil, err
	}
	var lengths [modelParts]uint64
	for i := range lengths {
		lengths[i] = f.Uint(8)
	}
	var parts [modelParts][]byte
	for i := range parts {
		parts[i] = f.Bytes(lengths[i])
	}
	if err := f.End(); err != nil {
		return nil, err
	}
	m := &Model{}
	if err := json.Unmarshal(parts[0], &m.Card); err != nil {
		return nil, err
	}
	if err := m.Card.check(); err != nil {
		return nil, err
	}
	if err := m.restoreFeatures(parts[1]); err != nil {
		return nil, err
	}
	return m, m.restoreNetwork(parts[2])
}

func (c Card) check() error {
	const side, classes = 1 << 12, 1 << 16
	switch {
	case len(c.Classes) < 2 || len(c.Classes) > classes:
		return fmt.Errorf("%d classes", len(c.Classes))
	case c.Columns < 1 || c.Columns > 1<<30:
		return fmt.Errorf("rows of %d columns", c.Columns)
	case c.Image != dataset.Shape{} &&
		(min(c.Image.Rows, c.Image.Cols) < 1 || max(c.Image.Rows, c.Image.Cols) > side || c.Image.Pixels() != c.Columns):
		return fmt.Errorf("images of %dx%d in rows of %d columns", c.Image.Rows, c.Image.Cols, c.Columns)
	case c.Encoder != nil && (c.Image != dataset.Shape{} || c.Encoder.Dim() != c.Columns):
		return fmt.Errorf("%d columns are encoded for %d", c.Encoder.Dim(), c.Columns)
	case c.Epsilon != nil && !(*c.Epsilon >= 0), !(c.Delta >= 0 && c.Delta < 1):
		return errors.New("its privacy is out of range")
	}
	return nil
}

func (c Card) shape() Shape {
	return Shape{Records: 1, Columns: c.Columns, Classes: len(c.Classes), Image: c.Image}
}

func (m *Model) restoreFeatures(transform []byte) (err error) {
	r := Recipe{Features: m.Features}
	if _, learns := r.learned(m.shape()); !learns {
		if len(transform) > 0 {
			return fmt.Errorf("features %q learn nothing", m.Features)
		}
		if _, err := r.Columns(m.shape()); err != nil {
			return err
		}
		transform = nil
	}
	m.made, err = charged.RestoreExtraction(transform, m.Features, m.Extractor, m.Image)
	return err
}

func (m *Model) restoreNetwork(saved []byte) error {
	r := Recipe{Features: m.Features, Model: m.Kind}
	least, err := r.leastParameters(m.shape(), m.featureColumns())
	if err != nil {
		return err
	}
	if least > int64(len(saved)/4) {
		return fmt.Errorf("%d bytes are too few for %d parameters or more", len(saved), least)
	}
	if m.network, err = r.newModel(m.shape(), m.featureColumns(), rng.SeedKey(0)); err != nil {
		return err
	}
	in := bytes.NewReader(saved)
	if err := m.network.Load(in); err != nil {
		return err
	}
	if in.Len() > 0 {
		return fmt.Errorf("%d bytes too many behind the network", in.Len())
	}
	return nil
}

func (r Recipe) leastParameters(s Shape, columns int) (int64, error) {
	widths, err := r.widths()
	if err != nil {
		return 0, err
	}
	if r.Model == CNN {
		return 8 * int64(columns), nil // all layers together
	}
	total, in := int64(0), int64(columns)
	for _, out := range append(widths, s.Classes) {
		total += (in + 1) * int64(out)
		in = int64(out)
	}
	return total, nil
}
