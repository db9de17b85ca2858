package votes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
)

type input struct {
	name     string
	size     int64
	modified time.Time
	open     func() (openInput, error)
	kind     string    // original format, if the file was converted
	packed   []packing // removed compressions and formats, outermost first
}

func (in *input) table() bool {
	return slices.Contains(in.packed, packedParquet)
}

type openInput interface {
	io.ReaderAt
	io.Closer
}

func findInputs(paths []string, spool *Spool) (files []*input, perTeacher bool, err error) {
	if slices.Contains(paths, Stdin) && spool != nil {
		if len(paths) > 1 {
			return nil, false, &fault.Error{File: Stdin, What: "is given together with other files",
				Why: "standard input must be the only matrix of votes", Fix: "give standard input alone"}
		}
		return []*input{spool.input()}, false, nil
	}
	perTeacher = len(paths) > 1
	var names []string
	for _, path := range paths {
		_, statErr := os.Stat(path)
		if statErr == nil {
			names = append(names, path)
			continue
		}
		found, err := filepath.Glob(path)
		if err != nil {
			return nil, false, &fault.Error{File: path, What: "is neither a file nor a pattern", Err: err}
		}
		if len(found) == 0 {
			return nil, false, &fault.Error{File: path, What: "cannot be read",
				Why: "no file has this name or matches this pattern", Err: statErr}
		}
		perTeacher = true
		names = append(names, found...)
	}
	if len(names) == 0 {
		return nil, false, errors.New("votes: no votes file is given")
	}
	if len(names) > MaxTeachers {
		return nil, false, fmt.Errorf("votes: %d files were given, but at most %d teachers are possible", len(names), MaxTeachers)
	}
	slices.Sort(names)
	for i, name := range names {
		if i > 0 && name == names[i-1] {
			return nil, false, &fault.Error{File: name, What: "is given twice", Why: "each file has the votes of one teacher"}
		}
		f, err := fileInput(name)
		if err != nil {
			return nil, false, err
		}
		files = append(files, f)
	}
	return files, perTeacher, nil
}

func fileInput(path string) (*input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &fault.Error{File: path, What: "cannot be read", Err: err}
	}
	if !info.Mode().IsRegular() {
		return nil, &fault.Error{File: path, What: "is not a regular file", Why: "votes must be read more than once",
			Fix: "give - as the name, and pipe the votes to standard input"}
	}
	return &input{name: path, size: info.Size(), modified: info.ModTime(),
		open: func() (openInput, error) {
			f, err := os.Open(path)
			if err != nil {
				return nil, &fault.Error{File: path, What: "cannot be read", Err: err}
			}
			if err := unchanged(f, info, path); err != nil {
				f.Close()
				return nil, err
			}
			return f, nil
		}}, nil
}

func unchanged(f *os.File, was fs.FileInfo, name string) error {
	is, err := f.Stat()
	if err == nil && !durable.Unchanged(was, is) {
		err = errChanged
	}
	if err != nil {
		return changed(name, err)
	}
	return nil
}

var errChanged = errors.New("the name is another file now, or size or times differ")

func changed(path string, err error) error {
	return &fault.Error{File: path, What: "changed while it was in use",
		Why: "a release must come from one set of votes",
		Fix: "run the command again when nothing writes to the file", Err: err}
}

type reader struct {
	input *input
	file  openInput
	buf   []byte
}

const bufferBytes = 1 << 20

func (r *reader) at(in *input, offset int64, want int) ([]byte, error) {
	if r.input != in {
		r.close()
		f, err := in.open()
		if err != nil {
			return nil, err
		}
		r.input, r.file = in, f
	}
	if left := in.size - offset; int64(want) > left {
		want = int(max(left, 0))
	}
	want = min(want, bufferBytes)
	if want == 0 {
		return nil, nil
	}
	if len(r.buf) < want {
		r.buf = make([]byte, want)
	}
	n, err := r.file.ReadAt(r.buf[:want], offset)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if n < want {
		return nil, changed(in.name, err)
	}
	return r.buf[:want], nil
}

func (r *reader) close() {
	if r.file != nil {
		r.file.Close() // an error does not matter after reading
	}
	r.input, r.file = nil, nil
}

func (r *reader) recheck(in *input) error {
	r.close()
	_, err := r.at(in, 0, 0)
	return err
}

func (in *input) refuse(what, why, fix string) *fault.Error {
	return &fault.Error{File: in.name, What: what, Why: why, Fix: fix}
}

// Stdin, as a path, means the votes in Options.Spool, usually from a pipe.
const Stdin = "-"

const stdinName = "standard input"

// Spool holds votes from a pipe in a temporary file, because votes are read several times. Only the owner can
// read the file. If the system supports unnamed files, the file has no name.
type Spool struct {
	file  *os.File
	info  os.FileInfo
	named bool
}

// NewSpool copies up to limit bytes from `in` to a temporary file in $TMPDIR. It returns as soon as ctx ends,
// even if a read blocks.
func NewSpool(ctx context.Context, in io.Reader, limit int64) (*Spool, error) {
	f, named, err := temporary()
	if err != nil {
		return nil, err
	}
	s := &Spool{file: f, named: named}
	type done struct {
		n   int64
		err error
	}
	copied := make(chan done, 1)
	go func() {
		n, err := io.Copy(f, io.LimitReader(in, limit+1))
		copied <- done{n, err}
	}()
	select {
	case <-ctx.Done():
		err = fmt.Errorf("votes: reading standard input: %w", ctx.Err())
	case d := <-copied:
		switch {
		case d.err != nil:
			err = &fault.Error{File: stdinName, What: "cannot be kept", Why: "votes must be read more than once",
				Fix: "set TMPDIR to a folder with more room, or give a file", Err: d.err}
		case d.n > limit:
			err = &fault.Error{File: stdinName, What: fmt.Sprintf("has more than %d bytes", limit),
				Why: "standard input is kept in a temporary file", Fix: "give a file"}
		}
	}
	if err == nil {
		s.info, err = f.Stat()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func temporary() (f *os.File, named bool, err error) {
	if f, named, err = durable.Unnamed("pate-votes-*"); err != nil {
		return nil, false, &fault.Error{What: "votes cannot be kept in a temporary file",
			Why: "votes must be read more than once", Fix: "set TMPDIR to a folder that can be written", Err: err}
	}
	return f, named, nil
}

func (s *Spool) Close() error {
	err := s.file.Close()
	if s.named {
		err = errors.Join(err, os.Remove(s.file.Name()))
	}
	if err != nil {
		return fmt.Errorf("votes: %w", err)
	}
	return nil
}

func (s *Spool) input() *input {
	return &input{name: stdinName, size: s.info.Size(), open: func() (openInput, error) {
		return spooled{s.file}, unchanged(s.file, s.info, stdinName)
	}}
}

type spooled struct{ io.ReaderAt }

func (spooled) Close() error { return nil }
