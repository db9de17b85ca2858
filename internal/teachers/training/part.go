package training

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/sealed"
	"github.com/pate-go/pate/internal/teachers/manifest"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/teachers/votes"
)

// The file of a part is as secret as the votes:
//
//	magic "pate part 1\n"                                        12 bytes
//	length of the head                                            4 bytes
//	head, JSON
//	votes, an int16 for each query, teacher after teacher
//	hashes of the units of a silo, ascending                16 bytes each
//	SHA-256 of all the above                                     32 bytes
//
// Integers are little-endian.

// partHead describes the votes of some teachers. The file of a part is secret, like the votes.
type partHead struct {
	Part       int               `json:"part"` // from 0; teachers t with t mod Parts = Part
	Parts      int               `json:"parts"`
	Teachers   int               `json:"teachers"` // number of teachers in all parts
	Queries    int               `json:"queries"`
	ClassNames []string          `json:"class_names"`
	Unit       string            `json:"unit"`
	Seeded     bool              `json:"seeded"`
	Salt       string            `json:"salt_id"`
	Key        string            `json:"key_id"` // one-way function of the run key
	Silo       string            `json:"silo,omitempty"`
	Units      int               `json:"units,omitempty"` // number of units of the silo
	Data       string            `json:"data"`            // [manifest.Salt.Data] of the private rows
	Training   manifest.Training `json:"training"`
}

const (
	partMagic   = "pate part 1\n"
	maxPartHead = 1 << 24
	maxPart     = 2 << 30
)

const partEnd = ".part"

type partFile struct {
	partHead
	path  string
	cells []byte
	units []manifest.Hash
}

func teachersOf(part, parts, teachers int) (mine []int) {
	for t := part; t < teachers; t += parts {
		mine = append(mine, t)
	}
	return mine
}

func keyID(key rng.Key) string { return fmt.Sprintf("%016x", key.Derive("id").Stream().Uint64()) }

func (t *task) partHead() partHead {
	r := t.result
	return partHead{Part: t.Part, Parts: t.Parts, Teachers: r.Teachers, Queries: r.Queries, ClassNames: r.Classes,
		Unit: t.Unit, Seeded: r.Seeded,
		Salt: t.secrets.salt.ID(), Key: keyID(t.secrets.key), Silo: t.Silo, Data: t.data, Training: t.hashes}
}

func (h partHead) manifest() manifest.Head {
	return manifest.Head{Unit: h.Unit, SaltID: h.Salt, Teachers: h.Teachers, Classes: len(h.ClassNames),
		ClassNames: h.ClassNames, Queries: h.Queries, Relation: relation, Training: &h.Training}
}

func (h partHead) partName() string {
	return fmt.Sprintf("part-%0*d-of-%d-", len(fmt.Sprint(h.Parts)), h.Part+1, h.Parts)
}

func (t *task) partThere() (bool, error) {
	t.result.Part = fmt.Sprintf("%d/%d", t.Part+1, t.Parts)
	want := t.partHead()
	entries, err := os.ReadDir(t.PartsFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("training: %w", err)
	}
	found := ""
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), want.partName()) || !strings.HasSuffix(e.Name(), partEnd) {
			continue
		}
		path := filepath.Join(t.PartsFolder, e.Name())
		p, err := readPart(path)
		if err != nil {
			return false, err
		}
		if what := want.differs(p.partHead, false); what != "" || p.Silo != want.Silo || p.Data != want.Data || p.Key != want.Key {
			return false, refuse(path, "is the same part of another job, or has other rows", "parts are not overwritten",
				"remove the file, or choose another --parts")
		}
		found = path
	}
	if found == "" {
		return false, nil
	}
	t.result.PartFile = found
	t.Say("this part is complete; nothing was trained")
	return true, nil
}

func (t *task) keepPart(matrix *votes.Matrix) error {
	head := t.partHead()
	var units []manifest.Hash
	if t.Silo != "" {
		units = t.secrets.salt.Units(t.private.Units)
		head.Units = len(units)
	}
	text, err := json.Marshal(head)
	if err != nil || len(text) > maxPartHead {
		return fmt.Errorf("training: a part has a head of %d bytes: %w", len(text), err)
	}
	b := binary.LittleEndian.AppendUint32([]byte(partMagic), uint32(len(text)))
	b = append(b, text...)
	for _, teacher := range teachersOf(t.Part, t.Parts, head.Teachers) {
		for q := range head.Queries {
			b = binary.LittleEndian.AppendUint16(b, uint16(int16(matrix.At(q, teacher))))
		}
	}
	for _, unit := range units {
		b = append(b, unit[:]...)
	}
	b = sealed.Seal(b)
	if len(b) > maxPart {
		return &fault.Error{File: t.PartsFolder, What: fmt.Sprintf("a part has more than %d bytes", maxPart), Fix: "train in more parts"}
	}
	if err := durable.PrivateFolder(t.PartsFolder); err != nil {
		return err
	}
	path := filepath.Join(t.PartsFolder, head.partName()+t.secrets.salt.Part(sha256.Sum256(b))+partEnd)
	durable.Sweep(path, "")
	t.result.PartFile = path
	return durable.WriteBytes(path, 0o600, b)
}

func readPart(path string) (*partFile, error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, &fault.Error{File: path, What: "cannot be read", Err: err}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPart+1))
	if err != nil {
		return nil, &fault.Error{File: path, What: "cannot be read", Err: err}
	}
	damaged := func(err error) error {
		return &fault.Error{File: path, What: "is not a complete part of the teachers",
			Why: "the file was changed or cut off, or is another file", Fix: "remove the file and train that part again",
			Err: err, Check: true}
	}
	if len(b) > maxPart {
		return nil, damaged(errors.New("too large"))
	}
	p, err := decodePart(b)
	if err != nil {
		return nil, damaged(err)
	}
	p.path = path
	return p, nil
}

func decodePart(b []byte) (*partFile, error) {
	r, err := sealed.Open(b, partMagic)
	if err != nil {
		return nil, err
	}
	p := &partFile{}
	size := r.Uint(4)
	if size > maxPartHead {
		return nil, errors.New("the head of the part is too long")
	}
	d := json.NewDecoder(bytes.NewReader(r.Bytes(size)))
	d.DisallowUnknownFields()
	if err := errors.Join(r.Err(), d.Decode(&p.partHead)); err != nil {
		return nil, err
	}
	if err := p.manifest().Check(); err != nil {
		return nil, err
	}
	if p.Teachers < 1 || p.Teachers > votes.MaxTeachers || len(p.ClassNames) < 2 || p.Part < 0 ||
		p.Part >= p.Parts || p.Parts > p.Teachers || p.Units < 0 || p.Units > manifest.MaxUnits ||
		(p.Silo == "") != (p.Units == 0) { // the units prove that silos are disjoint
		return nil, errors.New("its head contradicts itself")
	}
	mine := len(teachersOf(p.Part, p.Parts, p.Teachers))
	if p.Queries > maxPart/mine {
		return nil, errors.New("its head claims more than a file holds")
	}
	p.cells = r.Bytes(2 * uint64(mine) * uint64(p.Queries))
	for range p.Units {
		unit := r.Bytes(uint64(len(manifest.Hash{})))
		if unit == nil {
			break
		}
		p.units = append(p.units, manifest.Hash(unit))
	}
	return p, r.End()
}

func (h partHead) differs(from partHead, merging bool) string {
	same := h.Silo == "" && merging
	for _, s := range []struct {
		what  string
		equal bool
	}{
		{"another number of parts", h.Parts == from.Parts},
		{"another number of teachers", h.Teachers == from.Teachers},
		{"other public rows", h.Training.Public == from.Training.Public && h.Queries == from.Queries},
		{"other classes", slices.Equal(h.ClassNames, from.ClassNames)},
		{"another unit of privacy", h.Unit == from.Unit},
		{"another learner", h.Training.Learner == from.Training.Learner},
		{"other features", h.Training.Features == from.Training.Features},
		{"a seed, or none", h.Seeded == from.Seeded},
		{"another salt", h.Salt == from.Salt},
		{"silos, or none", (h.Silo == "") == (from.Silo == "")},
		{"another key", !same || h.Key == from.Key},
		{"other private rows", !same || h.Data == from.Data},
		{"another version of this program", !same || h.Training.Program == from.Training.Program},
	} {
		if !s.equal {
			return s.what
		}
	}
	return ""
}
