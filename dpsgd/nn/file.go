package nn

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/pate-go/pate/internal/sealed"
)

// A model's file holds, in this order: a line of magic; the length of the architecture's name, 4 bytes; the
// name; the number of parameters, 8 bytes; the parameters in single precision; SHA-256 of all before.
const fileMagic = "pate dpsgd/nn 1\n"

const maxName = 1 << 16

// head returns the bytes before the parameters in the model's file.
func (m *Model) head() []byte {
	name := m.arch.String()
	b := binary.LittleEndian.AppendUint32([]byte(fileMagic), uint32(len(name)))
	return binary.LittleEndian.AppendUint64(append(b, name...), uint64(len(m.parameters)))
}

// Save writes the model: the name of its architecture and its parameters.
func (m *Model) Save(w io.Writer) error {
	if n := len(m.arch.String()); n > maxName {
		return fmt.Errorf("nn: the architecture takes %d bytes to name, more than %d", n, maxName)
	}
	if _, err := w.Write(sealed.Seal(sealed.Append(m.head(), m.parameters))); err != nil {
		return fmt.Errorf("nn: saving a model: %w", err)
	}
	return nil
}

// Load reads parameters that Save wrote for a model of the same architecture. Another architecture, a
// parameter that is not finite, or a damaged file is an error, and the model stays as it was. Load reads no
// more than this model's file, so r may hold more.
func (m *Model) Load(r io.Reader) error {
	head := m.head()
	b := make([]byte, len(head)+4*len(m.parameters)+sha256.Size)
	n, err := io.ReadFull(r, b)
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = m.parse(b[:n], head, len(b))
	}
	if err != nil {
		return fmt.Errorf("nn: loading a model: %w", err)
	}
	return nil
}

func (m *Model) parse(b, head []byte, size int) error {
	switch {
	case !bytes.HasPrefix(b, head):
		return m.foreign(b)
	case len(b) < size:
		return errors.New("the file ends early")
	}
	f, err := sealed.Open(b, string(head))
	if err != nil {
		return err
	}
	parameters := sealed.Numbers[float32](f, len(m.parameters))
	if err := f.End(); err != nil {
		return err
	}
	copy(m.parameters, parameters)
	return nil
}

// foreign returns an error that names the model of the file, if it has one.
func (m *Model) foreign(b []byte) error {
	f, err := sealed.Fields(b, fileMagic)
	if err != nil {
		return err
	}
	named := f.Bytes(f.Uint(4))
	count := f.Uint(8)
	if f.Err() != nil {
		return errors.New("the file is for another model, or ends early")
	}
	if name := m.arch.String(); string(named) != name {
		return fmt.Errorf("the file is for %q, the model is %q", named, name)
	}
	return fmt.Errorf("%d parameters for %d", count, len(m.parameters))
}
