package nn

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// A model's file holds, in this order: a line of magic; the length of the architecture's
// name, 4 bytes; the name; the number of parameters, 8 bytes; the parameters, IEEE 754
// single precision; SHA-256 of all before. Integers and numbers are little-endian.
const fileMagic = "pate dpsgd/nn 1\n"

// maxName bounds the name of an architecture in a file.
const maxName = 1 << 16

// Save writes the model: the name of its architecture and its parameters.
func (m *Model) Save(w io.Writer) error {
	name := m.arch.String()
	if len(name) > maxName {
		return fmt.Errorf("nn: the architecture takes %d bytes to name, more than %d", len(name), maxName)
	}
	b := make([]byte, 0, len(fileMagic)+4+len(name)+8+4*len(m.parameters)+sha256.Size)
	b = append(b, fileMagic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(name)))
	b = append(b, name...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(m.parameters)))
	for _, v := range m.parameters {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	sum := sha256.Sum256(b)
	if _, err := w.Write(append(b, sum[:]...)); err != nil {
		return fmt.Errorf("nn: saving a model: %w", err)
	}
	return nil
}

// Load reads parameters that Save wrote for a model of the same architecture. Another
// architecture, a parameter that is not finite, or a damaged file is an error, and the
// model stays as it was. Load reads no more than the file of this model takes, so r may
// hold more.
func (m *Model) Load(r io.Reader) error {
	name := m.arch.String()
	hash := sha256.New()
	in := io.TeeReader(r, hash)
	read := func(n int) ([]byte, error) {
		b := make([]byte, n)
		if _, err := io.ReadFull(in, b); err != nil {
			return nil, fmt.Errorf("nn: loading a model: the file ends early: %w", err)
		}
		return b, nil
	}
	head, err := read(len(fileMagic) + 4)
	if err != nil {
		return err
	}
	if string(head[:len(fileMagic)]) != fileMagic {
		return errors.New("nn: loading a model: not a file of this version")
	}
	length := binary.LittleEndian.Uint32(head[len(fileMagic):])
	if length > maxName {
		return fmt.Errorf("nn: loading a model: a name of %d bytes", length)
	}
	named, err := read(int(length))
	if err != nil {
		return err
	}
	if string(named) != name {
		return fmt.Errorf("nn: loading a model: the file is for %q, the model is %q", named, name)
	}
	count, err := read(8)
	if err != nil {
		return err
	}
	if n := binary.LittleEndian.Uint64(count); n != uint64(len(m.parameters)) {
		return fmt.Errorf("nn: loading a model: %d parameters for %d", n, len(m.parameters))
	}
	values, err := read(4 * len(m.parameters))
	if err != nil {
		return err
	}
	want := hash.Sum(nil)
	sum, err := read(sha256.Size)
	if err != nil {
		return err
	}
	if !bytes.Equal(sum, want) {
		return errors.New("nn: loading a model: the file is damaged: its hash does not match")
	}
	parameters := make([]float32, len(m.parameters))
	for i := range parameters {
		v := math.Float32frombits(binary.LittleEndian.Uint32(values[4*i:]))
		if !mathx.IsFinite(v) {
			return fmt.Errorf("nn: loading a model: parameter %d is not finite", i)
		}
		parameters[i] = v
	}
	copy(m.parameters, parameters)
	return nil
}
