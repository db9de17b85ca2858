package published

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/dpsgd/charged"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/plain"
	"github.com/pate-go/pate/internal/sealed"
	"github.com/pate-go/pate/run"
)

// Card describes a model: its classes, the features of its rows, and the provenance of its labels.
type Card struct {
	Schema  string          `json:"schema"` // always SchemaModel
	Kind    []string        `json:"kind"`   // kinds of student whose probabilities are averaged
	Classes []string        `json:"classes"`
	Rows    *dataset.Schema `json:"rows"` // schema for reading rows, made from public rows
	// Features is the short name of the features. Extractor is their full description.
	Features  string `json:"features"`
	Extractor string `json:"extractor"`
	// Transform encodes a [charged.Transform]. It is nil if the features use no statistics of private rows.
	Transform []byte     `json:"transform,omitempty"`
	Columns   int        `json:"columns"` // number of features
	HeldBack  HeldBack   `json:"held_back"`
	Labels    Provenance `json:"labels"`
}

const SchemaModel = "pate.student-model/1"

// HeldBack describes cross-validation on released labels, which may be wrong. Labels is the number of
// held-out labels, or 0 without cross-validation. Right is the number of held-out labels predicted correctly.
// MostFrequent is the number of released labels of the most frequent class. Doubt is the result of
// [Model.Doubt].
type HeldBack struct {
	Labels       int    `json:"labels"`
	Right        int    `json:"right"`
	MostFrequent int    `json:"most_frequent,omitempty"`
	Doubt        string `json:"doubt,omitempty"`
}

// Percent returns the percentage of correctly predicted held-out labels, with one decimal. Without held-out
// labels it returns "".
func (h *HeldBack) Percent() string {
	if h == nil || h.Labels == 0 {
		return ""
	}
	return strconv.FormatFloat(100*float64(h.Right)/float64(h.Labels), 'f', 1, 64)
}

// Constant returns the percentage of the `released` labels that have the most frequent class, with one
// decimal. Without held-out labels it returns "".
func (h *HeldBack) Constant(released int) string {
	if h.Percent() == "" {
		return ""
	}
	return (&HeldBack{Labels: released, Right: h.MostFrequent}).Percent()
}

// Provenance describes the labels and their cost, according to the maker of a model. For a model trained on
// private rows, Provenance describes the cost of the training.
type Provenance struct {
	Asked    int     `json:"asked"`
	Released int     `json:"released"`
	SHA256   string  `json:"sha256"`            // hash of the labels file
	Ledger   string  `json:"ledger,omitempty"`  // file name of the charged ledger; "" if unknown
	Entry    int64   `json:"entry,omitempty"`   // index of the charged entry; 0 if unknown
	Epsilon  float64 `json:"epsilon,omitempty"` // of the whole ledger at Delta
	Delta    float64 `json:"delta,omitempty"`
	Unit     string  `json:"unit,omitempty"`
	Relation string  `json:"relation,omitempty"`
	// Releasable reports whether the ledger committed the labels, all noise was secret, and no check was
	// waived.
	Releasable bool     `json:"releasable"`
	Waived     []string `json:"waived,omitempty"` // see ledger.Config
}

// Model is a student that can predict. Concurrent use is safe.
type Model struct {
	Card
	model plain.Model
	made  charged.Extraction
}

// Prediction is the predicted class of a row and the probabilities of all classes.
type Prediction struct {
	Class         int // the most probable class; in a tie, the class with the lowest index
	Probabilities []float64
}

// Predict predicts rows that were read with the schema Card.Rows. Rows of another shape are a [*fault.Error].
func (m *Model) Predict(ctx context.Context, rows dataset.Pool) ([]Prediction, error) {
	if rows.X.Cols != m.Rows.Features || rows.Image != m.Rows.Image {
		return nil, &fault.Error{
			What: fmt.Sprintf("the rows have %d columns", rows.X.Cols),
			Why:  fmt.Sprintf("the model was trained on %d of another shape", m.Rows.Features),
		}
	}
	out, classes := make([]Prediction, rows.Len()), len(m.Classes)
	for from := 0; from < rows.Len(); from += predictRows {
		to := min(from+predictRows, rows.Len())
		x, err := m.made.Apply(ctx, dataset.Set{Name: rows.Name, X: dense.Rows(rows.X, from, to), Image: rows.Image})
		if err != nil {
			return nil, fmt.Errorf("published: %w", err)
		}
		scores, err := m.model.Scores(ctx, x, classes)
		if err != nil {
			return nil, fmt.Errorf("published: %w", err)
		}
		for i := range x.Rows {
			p, answer := scores[i*classes:(i+1)*classes], &out[from+i]
			answer.Probabilities = p
			for c, v := range p {
				if v > p[answer.Class] {
					answer.Class = c
				}
			}
		}
	}
	return out, nil
}

const predictRows = 1 << 12

// Accuracy returns the number of correct predictions and the number of rows with a known class.
func (m *Model) Accuracy(predictions []Prediction, rows dataset.Pool) (right, known int) {
	for i, truth := range rows.Truth {
		if truth >= 0 {
			known++
			if predictions[i].Class == truth {
				right++
			}
		}
	}
	return right, known
}

// Groups returns the indices and names of the features for the categories of a column. If no column with
// categories has this name, both results are nil.
func Groups(s *dataset.Schema, column string) (features []int, names []string) {
	if column == "" || s.Encoder == nil {
		return nil, nil
	}
	for i, name := range s.Encoder.Names() {
		if strings.HasPrefix(name, column+"=") {
			features, names = append(features, i), append(names, name)
		}
	}
	return features, names
}

// Utility returns the accuracy on rows with a known class. The first share is for all rows, and one share for
// each class follows. If group names a column, one share for each category of this column comes last.
func (m *Model) Utility(predictions []Prediction, rows dataset.Pool, group string) (all []statement.Share) {
	of := []string{"all rows"}
	for _, class := range m.Classes {
		of = append(of, "class "+class)
	}
	features, names := Groups(m.Rows, group)
	of = append(of, names...)
	for _, name := range of {
		all = append(all, statement.Share{Of: name})
	}
	for i, truth := range rows.Truth {
		if truth < 0 {
			continue
		}
		shares := []int{0, 1 + truth}
		for k, feature := range features {
			if rows.X.Data[i*rows.X.Stride+feature] > 0 {
				shares = append(shares, 1+len(m.Classes)+k)
			}
		}
		for _, share := range shares {
			all[share].Rows++
			if predictions[i].Class == truth {
				all[share].Right++
			}
		}
	}
	if all[0].Rows == 0 {
		return nil
	}
	return all
}

func (m *Model) check() error {
	switch {
	case m.Schema != SchemaModel:
		return fmt.Errorf("its schema is %.40q", m.Schema)
	case m.Rows == nil:
		return errors.New("it does not say what rows are")
	case dataset.ClassRule{Names: m.Classes}.Validate() != nil || m.Classes == nil:
		return fmt.Errorf("it has %d classes, or one without a name of its own", len(m.Classes))
	}
	n, err := m.restoreFeatures()
	if err != nil {
		return err
	}
	if n != m.Columns {
		return fmt.Errorf("it has %d columns, and its features %d", m.Columns, n)
	}
	return m.model.Check(m.Columns, len(m.Classes))
}

func (m *Model) restoreFeatures() (columns int, err error) {
	if m.made, err = charged.RestoreExtraction(m.Transform, m.Features, m.Extractor, m.Rows.Image); err != nil {
		return 0, err
	}
	return m.made.Columns(m.Rows.Image, m.Rows.Features), nil
}

func (c Card) String() string {
	if len(c.Kind) == 1 {
		return c.Kind[0]
	}
	return "mean of " + strings.Join(c.Kind, ", ")
}

type Private struct {
	Schema     *dataset.Schema // schema of the rows, made from public rows
	Kind       string          // kind of model, for people
	Features   string          // name of the features
	Transform  []byte          // encoded transform for features with charged statistics; nil for other features
	Settings   string          // full description of these features
	Model      plain.Model
	Provenance Provenance
}

// FromModel makes a [Model] from the parts of a model that was trained on private rows.
func FromModel(p Private) (*Model, error) {
	m := &Model{model: p.Model, Card: Card{
		Schema: SchemaModel, Kind: []string{p.Kind}, Classes: p.Schema.Classes, Rows: p.Schema, Features: p.Features,
		Extractor: p.Settings, Transform: p.Transform, Labels: p.Provenance,
	}}
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

// Charged returns the ledger entry that committed a labels file, and the guarantee of the whole ledger at
// path. The file's hexadecimal hash is `sha256`. Charged verifies the whole ledger against the stored head.
// If the ledger did not commit the file, the error is a [*fault.Error].
func Charged(path, sha256 string) (Provenance, error) {
	raw, err := hex.DecodeString(sha256)
	if err != nil || len(raw) != 32 {
		return Provenance{}, fmt.Errorf("published: %q is no hash", sha256)
	}
	known, err := run.ReadHeads(path)
	if err != nil {
		return Provenance{}, fmt.Errorf("published: %w", err)
	}
	f, err := durable.OpenRegular(path)
	if err != nil {
		return Provenance{}, &fault.Error{
			File: path, What: "is no ledger that can be read", Err: err, Fix: "give the ledger that paid for the labels",
		}
	}
	defer f.Close()
	var entry int64
	sum, err := ledger.Verify(f, ledger.VerifyOptions{Heads: known.Of, Outcome: func(of int64, hash [32]byte) {
		if entry == 0 && hash == [32]byte(raw) {
			entry = of
		}
	}})
	if err != nil {
		return Provenance{}, fmt.Errorf("published: %s: %w", path, err)
	}
	if entry == 0 {
		return Provenance{}, &fault.Error{
			File: path, What: "did not release these labels", Check: true,
			Why: "no entry was committed with their hash: the file was changed, or comes from elsewhere",
			Fix: "give the labels as pate label wrote them, and the ledger that paid for them",
		}
	}
	epsilon, err := sum.Claim(sum.Config.Delta)
	if err != nil {
		return Provenance{}, fmt.Errorf("published: %w", err)
	}
	c := sum.Config
	return Provenance{
		Ledger: filepath.Base(path), Entry: entry, Epsilon: epsilon, Delta: c.Delta, Unit: c.Unit, Relation: c.Relation.String(),
		Releasable: c.Releasable(), Waived: c.Waived,
	}, nil
}

const magic = "pate student 1\n"

const maxFile = 1 << 29

// ErrFile matches every error about a damaged student file, or about a file that holds no student.
var ErrFile = errors.New("not a valid file of a student")

type document struct {
	Card
	Model plain.Model `json:"model"`
}

func (m *Model) Export(w io.Writer) error {
	text, err := json.Marshal(document{m.Card, m.model})
	if err != nil {
		return fmt.Errorf("published: %w", err)
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// Save writes the model to a file. Equal models give equal bytes.
func (m *Model) Save(path string, mode os.FileMode) error {
	b, err := m.MarshalBinary()
	if err != nil {
		return err
	}
	if err := durable.WriteBytes(path, mode, b); err != nil {
		return fmt.Errorf("published: %w", err)
	}
	return nil
}

func (m *Model) MarshalBinary() ([]byte, error) {
	b := bytes.NewBufferString(magic)
	if err := m.Export(b); err != nil {
		return nil, err
	}
	return sealed.Seal(b.Bytes()), nil
}

// Open reads the file of a student. If the file is damaged or is not a student, the error matches [ErrFile].
// Open uses at most a small multiple of the file size as memory.
func Open(path string) (*Model, error) {
	f, err := durable.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("published: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("published: %s is %w: %w", path, ErrFile, err)
	}
	defer f.Close()
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(f, head); err != nil || string(head) != magic {
		return nil, fmt.Errorf("published: %s is %w: %w", path, ErrFile, sealed.ErrKind)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, fmt.Errorf("published: %w", err)
	}
	m, err := parse(append(head, b...))
	if err != nil {
		return nil, fmt.Errorf("published: %s is %w: %w", path, ErrFile, err)
	}
	return m, nil
}

func parse(b []byte) (*Model, error) {
	r, err := sealed.Open(b, magic)
	if err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(r.Bytes(r.Left()), &d); err != nil {
		return nil, err
	}
	m := &Model{Card: d.Card, model: d.Model}
	return m, m.check()
}
