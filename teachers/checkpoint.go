package teachers

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/sealed"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/votes"
)

//	magic "pate teacher 1\n"                                     15 bytes
//	fingerprint of the run                                       32 bytes
//	teachers, teacher, queries, classes                       4 x 8 bytes
//	binding to the inputs, see bind                              32 bytes
//	votes, one int16 per query
//	SHA-256 of all the above                                     32 bytes
//
// Integers are little-endian.

type checkpoint struct {
	cfg     Config
	queries int
	classes int
	asked   [sha256.Size]byte // hash of the query matrix
}

const checkpointMagic = "pate teacher 1\n"

func openCheckpoint(cfg Config, mine []int, queries Matrix, classes int) (*checkpoint, error) {
	if err := os.MkdirAll(cfg.Checkpoint, 0o700); err != nil {
		return nil, fmt.Errorf("teachers: checkpoint: %w", err)
	}
	c := &checkpoint{cfg: cfg, queries: queries.Rows, classes: classes}
	h := sha256.New()
	hashMatrix(h, queries)
	h.Sum(c.asked[:0])
	if len(mine) == cfg.Teachers {
		durable.SweepFolder(cfg.Checkpoint) // Remove files of killed processes. With several parts, another process may still be writing a file.
	}
	return c, nil
}

func (c *checkpoint) path(t int) string {
	return filepath.Join(c.cfg.Checkpoint, fmt.Sprintf("teacher-%07d.votes", t))
}

func (c *checkpoint) head(t int) []byte {
	b := append([]byte(checkpointMagic), c.cfg.Fingerprint[:]...)
	for _, n := range []int{c.cfg.Teachers, t, c.queries, c.classes} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return b
}

// bind returns a keyed hash of header, queries and share. Without the key, the hash reveals nothing about the
// private share.
func (c *checkpoint) bind(t int, share Dataset) []byte {
	h := sha256.New()
	h.Write(c.head(t))
	h.Write(c.asked[:])
	hashMatrix(h, share.X)
	hashInts(h, share.Y)
	stream := c.cfg.Key.DeriveBytes("checkpoint", h.Sum(nil)).Stream()
	binding := make([]byte, 0, sha256.Size)
	for len(binding) < sha256.Size {
		binding = binary.LittleEndian.AppendUint64(binding, stream.Uint64())
	}
	return binding
}

func (c *checkpoint) load(t int, share Dataset, column []int) (bool, error) {
	f, err := os.Open(c.path(t))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("checkpoint: %w", err)
	}
	defer f.Close()
	head := c.head(t)
	size := len(head) + sha256.Size + 2*c.queries + sha256.Size
	// Read one byte beyond the expected size, to detect a file that is too long.
	b, err := io.ReadAll(io.LimitReader(f, int64(size+1)))
	if err != nil {
		return false, fmt.Errorf("checkpoint: %w", err)
	}
	if !bytes.HasPrefix(b, head) {
		return false, c.foreignOrDamaged(f, t)
	}
	r, err := sealed.Open(b, string(head))
	if err != nil || len(b) != size || !bytes.Equal(r.Bytes(sha256.Size), c.bind(t, share)) {
		return false, nil
	}
	cells := r.Bytes(2 * uint64(c.queries))
	for q := range column {
		column[q] = int(int16(binary.LittleEndian.Uint16(cells[2*q:])))
		if column[q] < votes.Abstention || column[q] >= c.classes {
			return false, nil
		}
	}
	return true, nil
}

// foreignOrDamaged returns an error if f is an intact file of another run, and nil if f is damaged.
func (c *checkpoint) foreignOrDamaged(f *os.File, t int) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	whole, err := sealed.Intact(f, info.Size(), checkpointMagic)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if whole {
		return run.OtherRun(c.path(t)+" is a teacher of another run", nil, "teachers of two runs are not mixed",
			"choose another folder, or remove it")
	}
	return nil
}

func (c *checkpoint) save(t int, share Dataset, column []int) error {
	b := append(c.head(t), c.bind(t, share)...)
	for _, vote := range column {
		b = binary.LittleEndian.AppendUint16(b, uint16(int16(vote)))
	}
	if err := durable.WriteBytes(c.path(t), 0o600, sealed.Seal(b)); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

func hashMatrix(h hash.Hash, m Matrix) {
	hashInts(h, []int{m.Rows, m.Cols})
	buf := make([]byte, 0, 4*m.Cols)
	for i := range m.Rows {
		buf = sealed.Append(buf[:0], dense.Row(m, i))
		h.Write(buf)
	}
}

func hashInts(h hash.Hash, v []int) {
	buf := make([]byte, 0, 8*len(v))
	for _, x := range v {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(x))
	}
	h.Write(buf)
}
