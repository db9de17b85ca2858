package features

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/parallel"
)

// Cache stores features in files. A file's name is a hash of the pixels, the extractor's name, and its output
// for built-in test images. So a file is never used for other pixels, another extractor, or a machine or
// version that computes other features. A damaged file is reported and replaced.
//
// Features are as private as the images, so files have mode 0600 and folders 0700. Deleting files is always
// safe. If a new file would raise the total size above Limit, the least recently used files are deleted
// first. On Unix, Cache uses no file or folder that another user owns or may write, because check sums cannot
// detect deliberate changes.
type Cache struct {
	Dir string // by default pate/features in [os.UserCacheDir]
	// Warn, if not nil, receives errors about damaged files, failed reads and writes, and files that other
	// users may write. These errors do not change the features.
	Warn func(error)
	// Limit is the largest total size of the files in bytes, by default 8 GB. Files above Limit are not
	// written.
	Limit int64
}

const defaultLimit int64 = 8e9

const extension = ".features"

var errDamaged = errors.New("features: damaged file in the cache")

func (c Cache) Apply(ctx context.Context, set dataset.Set, e Extractor, workers int) (blas32.General, error) {
	return toMatrix(ctx, set, e, workers, c.fill)
}

func (c Cache) Pack(ctx context.Context, set dataset.Set, e Extractor, workers int) (*Packed, error) {
	return toPacked(ctx, set, e, workers, c.fill)
}

func (c Cache) fill(x *extraction, ctx context.Context, out rows) error {
	dir, err := c.dir()
	if err != nil {
		c.warn(err)
		return x.run(ctx, out)
	}
	sweep(dir, time.Now())
	key, err := x.key(ctx, out.kind())
	if err != nil {
		return err
	}
	f := cacheFile{key: key}
	path := filepath.Join(dir, f.name())
	err = f.read(ctx, path, out, x.workers)
	if now := time.Now(); err == nil {
		// If the time of the last use is not recorded, the file is deleted too early at worst.
		if err := os.Chtimes(path, now, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.warn(fmt.Errorf("features: in the cache: %w", err))
		}
	}
	if over := x.ended(ctx); over != nil || err == nil {
		return over
	}
	if !errors.Is(err, fs.ErrNotExist) {
		c.warn(err)
	}
	if err := x.run(ctx, out); err != nil {
		return err
	}
	if !c.makeRoom(dir, fileSize(out)) {
		return nil
	}
	if err := durable.WriteFile(path, 0o600, func(w io.Writer) error { return f.write(w, out) }); err != nil {
		c.warn(fmt.Errorf("features: the cache was not written: %w", err))
	}
	return nil
}

func (c Cache) warn(err error) {
	if c.Warn != nil {
		c.Warn(err)
	}
}

func (c Cache) dir() (string, error) {
	dir := c.Dir
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("features: no folder for the cache: %w", err)
		}
		dir = filepath.Join(base, "pate", "features")
	}
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("features: no folder for the cache: %w", err)
	}
	info, err := os.Stat(dir)
	if err == nil {
		err = durable.Exposed(dir, info)
	}
	if err != nil {
		return "", fmt.Errorf("features: the cache is not used: %s: %w", dir, err)
	}
	return dir, nil
}

type cacheFile struct{ key [sha256.Size]byte }

const (
	pieceRows = 256
	sealSize  = 8 // bytes of the check sums of a piece
)

func (f cacheFile) name() string { return hex.EncodeToString(f.key[:]) + extension }

func pieces(rows int) int { return (rows + pieceRows - 1) / pieceRows }

func fileSize(x rows) int64 {
	return int64(x.count())*int64(x.size()) + int64(pieces(x.count()))*sealSize
}

func (f cacheFile) seal(piece int, data []byte) (seal [sealSize]byte) {
	head := binary.LittleEndian.AppendUint64(append([]byte(nil), f.key[:]...), uint64(piece))
	for i, polynomial := range []*crc32.Table{crc32.MakeTable(crc32.Castagnoli), crc32.IEEETable} {
		binary.LittleEndian.PutUint32(seal[4*i:], crc32.Update(crc32.Checksum(head, polynomial), polynomial, data))
	}
	return seal
}

func (f cacheFile) write(w io.Writer, x rows) error {
	var buffer []byte
	for from, piece := 0, 0; from < x.count(); from, piece = from+pieceRows, piece+1 {
		buffer = buffer[:0]
		for i := from; i < min(from+pieceRows, x.count()); i++ {
			buffer = x.append(buffer, i)
		}
		seal := f.seal(piece, buffer)
		if _, err := w.Write(append(buffer, seal[:]...)); err != nil {
			return err
		}
	}
	return nil
}

func (f cacheFile) read(ctx context.Context, path string, x rows, workers int) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("features: the cache was not read: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err == nil {
		err = durable.Exposed(path, info)
	}
	if err != nil {
		return fmt.Errorf("features: the cache was not read: %s: %w", path, err)
	}
	pieces := pieces(x.count())
	if info.Size() != fileSize(x) {
		return fmt.Errorf("%w: %s has %d bytes", errDamaged, path, info.Size())
	}
	errs, buffers := make([]error, max(workers, 1)), make([][]byte, max(workers, 1))
	parallel.Each(len(errs), pieces, func(w, piece int) {
		if buffers[w] == nil {
			buffers[w] = make([]byte, pieceRows*x.size()+sealSize)
		}
		if errs[w] == nil && ctx.Err() == nil {
			errs[w] = f.readPiece(file, x, piece, buffers[w])
		}
	})
	return errors.Join(append(errs, ctx.Err())...)
}

func (f cacheFile) readPiece(file io.ReaderAt, x rows, piece int, buffer []byte) error {
	from := piece * pieceRows
	to := min(from+pieceRows, x.count())
	size := (to - from) * x.size()
	buffer = buffer[:size+sealSize]
	if _, err := file.ReadAt(buffer, int64(from)*int64(x.size())+int64(piece)*sealSize); err != nil {
		return fmt.Errorf("features: the cache was not read: %w", err)
	}
	if f.seal(piece, buffer[:size]) != [sealSize]byte(buffer[size:]) {
		return fmt.Errorf("%w: piece %d", errDamaged, piece)
	}
	for i := from; i < to; i++ {
		x.set(i, buffer[:x.size()])
		buffer = buffer[x.size():]
	}
	return nil
}

func (c Cache) makeRoom(dir string, size int64) bool {
	limit := c.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	if size > limit {
		return false
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		c.warn(fmt.Errorf("features: the cache was not searched: %w", err))
		return true
	}
	var files []fs.FileInfo
	total := size
	for _, e := range entries {
		if filepath.Ext(e.Name()) != extension || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil { // the file is gone
			continue
		}
		files, total = append(files, info), total+info.Size()
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, f := range files {
		if total <= limit {
			break
		}
		if err := os.Remove(filepath.Join(dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.warn(fmt.Errorf("features: in the cache: %w", err))
			continue
		}
		total -= f.Size()
	}
	return total <= limit
}

const abandonedAfter = time.Hour

func sweep(dir string, now time.Time) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return // other operations on the folder will report the error
	}
	pattern := "." + strings.Repeat("[0-9a-f]", hex.EncodedLen(sha256.Size)) + extension + ".*.tmp" // as package durable names them
	for _, entry := range found {
		if ours, err := filepath.Match(pattern, entry.Name()); err != nil || !ours {
			continue
		}
		info, err := entry.Info()
		if err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()) > abandonedAfter {
			os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}
