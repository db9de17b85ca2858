package votes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
)

// Stdin is the path that stands for [Options].Spool.
const Stdin = "-"

// stdinName is what a spool is called in errors.
const stdinName = "standard input"

// Spool holds votes that can be read once only, from a pipe for instance: votes are read more than once.
// They lie in a temporary file that its owner alone can read, without a name where the system allows that.
type Spool struct {
	file  *os.File
	info  os.FileInfo
	named bool
}

// NewSpool reads in to its end, at most limit bytes. It returns as soon as ctx is done; in may then still
// be read from. The folder is the one for temporary files ($TMPDIR).
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
			err = &fault.Error{File: stdinName, What: "cannot be kept", Why: "votes are read more than once",
				Fix: "set TMPDIR to a folder with room, or give a file", Err: d.err}
		case d.n > limit:
			err = &fault.Error{File: stdinName, What: fmt.Sprintf("has more than %d bytes", limit),
				Why: "it is kept in a temporary file", Fix: "give a file"}
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

// temporary makes a file that only its owner can read, and takes its name away if it can.
func temporary() (f *os.File, named bool, err error) {
	if f, named, err = durable.Unnamed("pate-votes-*"); err != nil {
		return nil, false, &fault.Error{What: "votes cannot be kept in a temporary file",
			Why: "they are read more than once", Fix: "set TMPDIR to a folder that can be written", Err: err}
	}
	return f, named, nil
}

// Close forgets the votes.
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

// input makes a file of the spool.
func (s *Spool) input() *input {
	return &input{name: stdinName, size: s.info.Size(), open: func() (openInput, error) {
		is, err := s.file.Stat()
		if err == nil && !durable.Unchanged(s.info, is) {
			err = errChanged
		}
		if err != nil {
			return nil, changed(stdinName, err)
		}
		return spooled{s.file}, nil
	}}
}

// spooled reads a spool; closing it leaves the spool open.
type spooled struct{ io.ReaderAt }

func (spooled) Close() error { return nil }
