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
	"math"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/teachers/votes"
)

// ErrForeignCheckpoint says that a checkpoint folder holds teachers of another run: another
// fingerprint, or another number of teachers, of queries or of classes.
var ErrForeignCheckpoint = errors.New("teachers: checkpoint belongs to another run")

// checkpoint is a folder with one file per finished teacher:
//
//	magic "pate teacher 1\n"                                     15 bytes
//	fingerprint of the run                                       32 bytes
//	teachers, teacher, queries, classes                       4 x 8 bytes
//	binding: what the votes were made from, see bind             32 bytes
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

const (
	checkpointMagic = "pate teacher 1\n"
	checkpointHead  = len(checkpointMagic) + sha256.Size + 4*8
)

func openCheckpoint(cfg Config, queries Matrix, classes int) (*checkpoint, error) {
	if err := os.MkdirAll(cfg.Checkpoint, 0o700); err != nil {
		return nil, fmt.Errorf("teachers: checkpoint: %w", err)
	}
	c := &checkpoint{cfg: cfg, queries: queries.Rows, classes: classes}
	h := sha256.New()
	hashMatrix(h, queries)
	h.Sum(c.asked[:0])
	return c, c.sweep()
}

// sweep removes what a killed process left under a temporary name.
func (c *checkpoint) sweep() error {
	entries, err := os.ReadDir(c.cfg.Checkpoint)
	if err != nil {
		return fmt.Errorf("teachers: checkpoint: %w", err)
	}
	for _, entry := range entries {
		if left, _ := filepath.Match(".teacher-*.votes.*.tmp", entry.Name()); left {
			if err := os.Remove(filepath.Join(c.cfg.Checkpoint, entry.Name())); err != nil {
				return fmt.Errorf("teachers: checkpoint: %w", err)
			}
		}
	}
	return nil
}

func (c *checkpoint) path(t int) string {
	return filepath.Join(c.cfg.Checkpoint, fmt.Sprintf("teacher-%07d.votes", t))
}

// head returns the part of the file that must agree for the folder to be this run's.
func (c *checkpoint) head(t int) []byte {
	b := make([]byte, 0, checkpointHead)
	b = append(b, checkpointMagic...)
	b = append(b, c.cfg.Fingerprint[:]...)
	for _, n := range []int{c.cfg.Teachers, t, c.queries, c.classes} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return b
}

// bind returns the keyed hash of everything that teacher t's votes were made from and that
// is seen here. Because it is keyed, it tells nothing about the share. It does not cover
// the shares of other teachers: a record that came or went elsewhere leaves these votes as
// they are.
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

// load fills column with the votes that an earlier run left for teacher t. It reports
// whether there were any that are still valid.
func (c *checkpoint) load(t int, share Dataset, column []int) (bool, error) {
	f, err := os.Open(c.path(t))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("checkpoint: %w", err)
	}
	defer f.Close()
	head := make([]byte, checkpointHead)
	if _, err := io.ReadFull(f, head); err != nil {
		return false, damagedOr(err)
	}
	want := c.head(t)
	if !bytes.Equal(head, want) {
		return false, c.foreignOrDamaged(f, head, t)
	}
	// Read one byte more than there should be, to detect a file that is too long.
	rest, err := io.ReadAll(io.LimitReader(f, int64(checkpointTail(c.queries)+1)))
	if err != nil {
		return false, fmt.Errorf("checkpoint: %w", err)
	}
	if len(rest) != checkpointTail(c.queries) || !intact(head, rest) {
		return false, nil
	}
	if !bytes.Equal(rest[:sha256.Size], c.bind(t, share)) {
		return false, nil
	}
	cells := rest[sha256.Size:]
	for q := range column {
		column[q] = int(int16(binary.LittleEndian.Uint16(cells[2*q:])))
		if column[q] < votes.Abstention || column[q] >= c.classes {
			return false, nil
		}
	}
	return true, nil
}

// foreignOrDamaged returns an error for a whole file of another run, which Train must refuse.
// It returns nil for a file whose first bytes were damaged, so that its teacher is trained
// again.
func (c *checkpoint) foreignOrDamaged(f io.Reader, head []byte, t int) error {
	if !bytes.HasPrefix(head, []byte(checkpointMagic)) {
		return nil
	}
	queries := binary.LittleEndian.Uint64(head[checkpointHead-16:])
	if queries > math.MaxInt32 {
		return nil
	}
	h := sha256.New()
	h.Write(head)
	if _, err := io.CopyN(h, f, int64(checkpointTail(int(queries))-sha256.Size)); err != nil {
		return damagedOr(err)
	}
	sum := make([]byte, sha256.Size+1)
	n, err := io.ReadFull(f, sum)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return damagedOr(err)
	}
	if n != sha256.Size || !bytes.Equal(sum[:n], h.Sum(nil)) {
		return nil
	}
	return fmt.Errorf("%w: %s; choose another folder or remove it", ErrForeignCheckpoint, c.path(t))
}

// damagedOr returns nil for a file that ends too early and err otherwise.
func damagedOr(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return fmt.Errorf("checkpoint: %w", err)
}

func (c *checkpoint) save(t int, share Dataset, column []int) error {
	b := append(c.head(t), c.bind(t, share)...)
	for _, vote := range column {
		b = binary.LittleEndian.AppendUint16(b, uint16(int16(vote)))
	}
	sum := sha256.Sum256(b)
	if err := durable.WriteBytes(c.path(t), 0o600, append(b, sum[:]...)); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return nil
}

// checkpointTail returns the number of bytes after the head.
func checkpointTail(queries int) int { return sha256.Size + 2*queries + sha256.Size }

func intact(head, rest []byte) bool {
	h := sha256.New()
	h.Write(head)
	end := len(rest) - sha256.Size
	h.Write(rest[:end])
	return bytes.Equal(rest[end:], h.Sum(nil))
}

// hashMatrix adds shape and values to h, row by row.
func hashMatrix(h hash.Hash, m Matrix) {
	hashInts(h, []int{m.Rows, m.Cols})
	buf := make([]byte, 0, 4*m.Cols)
	for i := range m.Rows {
		buf = buf[:0]
		for _, v := range dense.Row(m, i) {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		}
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
