package online

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/rng"
)

// A mark is a file in the user's state folder. It holds the position and the authentication code of the last
// group of records in a journal. An older copy of the journal lacks released answers and votes, which would
// then not count against caps. The mark reveals an older copy, even if the whole folder of the run was
// restored.
type mark struct{ file *os.File }

const markSize = 8 + 16 // place of the frame, code

func openMark(key rng.Key) (mark, error) {
	secret, err := key.Derive("journal mark").MarshalText()
	if err != nil {
		return mark{}, err
	}
	dir, err := durable.StateFolder()
	if err == nil {
		err = durable.PrivateFolder(dir)
	}
	if err != nil {
		return mark{}, err
	}
	name := sha256.Sum256(secret)
	f, err := os.OpenFile(filepath.Join(dir, hex.EncodeToString(name[:16])+".journal"), os.O_RDWR|os.O_CREATE, 0o600)
	return mark{f}, err
}

func (m mark) check(j *journal) (empty bool, err error) {
	is, code := make([]byte, markSize), make([]byte, len(j.code))
	if n, err := m.file.ReadAt(is, 0); n == 0 && err == io.EOF {
		return true, nil
	} else if err != nil {
		return false, err
	}
	place := int64(binary.LittleEndian.Uint64(is))
	if _, err := j.file.ReadAt(code, place+frameHeader-int64(len(code))); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if place+frameHeader > j.end || !bytes.Equal(code, is[8:]) {
		return false, &fault.Error{What: j.file.Name() + " is an older copy: answers that were released are missing",
			Why: "the caps would count them again", Fix: "restore the newest copy", Check: true}
	}
	return false, nil
}

// set does not sync the file, because after a power failure an older mark still fits the journal.
func (m mark) set(place int64, code [16]byte) error {
	if m.file == nil {
		return nil
	}
	_, err := m.file.WriteAt(append(binary.LittleEndian.AppendUint64(nil, uint64(place)), code[:]...), 0)
	return err
}

func (m mark) close() error {
	if m.file == nil {
		return nil
	}
	return m.file.Close()
}

// guard makes no mark for a run with a seed, because the noise of such a run is not secret.
func (j *journal) guard(key rng.Key, warn func(string)) error {
	if !key.Releasable() {
		return nil
	}
	m, err := openMark(key)
	if err != nil {
		if warn != nil {
			warn(fmt.Sprintf("an older copy of %s would not be recognised: %v", j.file.Name(), err))
		}
		return nil
	}
	empty, err := m.check(j)
	if err != nil {
		m.file.Close()
		return fmt.Errorf("online: %w", err)
	}
	if empty && j.end > int64(len(journalMagic)) && warn != nil {
		warn(j.file.Name() + " was last used on another machine or with another state folder, so an older copy would not be recognised")
	}
	j.mark = m
	return nil
}
