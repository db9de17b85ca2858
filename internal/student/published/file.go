package published

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/plain"
	"github.com/pate-go/pate/internal/sealed"
)

// The file of a student: a line of magic, JSON, and the SHA-256 of all before.
const magic = "pate student 1\n"

// maxFile bounds the file, at five times the largest model, 3,000 landmarks of 2,304 features.
const maxFile = 1 << 29

// ErrFile is matched by every error about a file that is not a student as this version writes it.
var ErrFile = errors.New("published: not the file of a student")

type document struct {
	Card
	Model plain.Model `json:"model"`
}

// Export writes the model as JSON, with its provenance.
func (m *Model) Export(w io.Writer) error {
	text, err := json.Marshal(document{m.Card, m.model})
	if err != nil {
		return fmt.Errorf("published: %w", err)
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// Save writes the model to a file. The same model gives the same bytes.
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

// MarshalBinary returns the file of the model.
func (m *Model) MarshalBinary() ([]byte, error) {
	b := bytes.NewBufferString(magic)
	if err := m.Export(b); err != nil {
		return nil, err
	}
	return sealed.Seal(b.Bytes()), nil
}

// Open reads the file of a student. An error about a file that is none or is damaged matches [ErrFile].
// Memory is bounded by a small multiple of the file's size.
func Open(path string) (*Model, error) {
	f, err := durable.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("published: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrFile, path, err)
	}
	defer f.Close()
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(f, head); err != nil || string(head) != magic {
		return nil, fmt.Errorf("%w: %s: %w", ErrFile, path, sealed.ErrKind)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, fmt.Errorf("published: %w", err)
	}
	m, err := parse(append(head, b...))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrFile, path, err)
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
