package teachers

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// votesInput is a file of votes. It is opened for each use: there may be more
// files than the system lets a process hold open.
type votesInput struct {
	name     string
	size     int64
	modified time.Time
	open     func() (inputFile, error)
}

// inputFile is what is read, wherever it comes from.
type inputFile interface {
	io.ReaderAt
	io.Closer
}

// findVotes resolves paths and patterns, see [OpenVotes].
func findVotes(paths []string) (files []*votesInput, perTeacher bool, err error) {
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
			return nil, false, &VotesError{File: path, What: "is no file and no pattern", Err: err}
		}
		if len(found) == 0 {
			return nil, false, &VotesError{File: path, What: "cannot be read", Why: "there is no such file, and no file that matches it as a pattern", Err: statErr}
		}
		perTeacher = true
		names = append(names, found...)
	}
	if len(names) == 0 {
		return nil, false, errors.New("teachers: no votes file is named")
	}
	if len(names) > MaxTeachers {
		return nil, false, fmt.Errorf("teachers: %d files, at most %d teachers are possible", len(names), MaxTeachers)
	}
	slices.Sort(names)
	for i, name := range names {
		if i > 0 && name == names[i-1] {
			return nil, false, &VotesError{File: name, What: "is named twice", Why: "each file is the votes of one teacher"}
		}
		f, err := fileInput(name)
		if err != nil {
			return nil, false, err
		}
		files = append(files, f)
	}
	return files, perTeacher, nil
}

func fileInput(path string) (*votesInput, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &VotesError{File: path, What: "cannot be read", Err: err}
	}
	if !info.Mode().IsRegular() {
		return nil, &VotesError{File: path, What: "is not a regular file", Why: "votes are read more than once"}
	}
	return &votesInput{name: path, size: info.Size(), modified: info.ModTime(), open: func() (inputFile, error) { return openUnchanged(path, info) }}, nil
}

// openUnchanged refuses a file of another size or time than it had.
func openUnchanged(path string, was fs.FileInfo) (inputFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &VotesError{File: path, What: "cannot be read", Err: err}
	}
	is, err := f.Stat()
	if err == nil && (is.Size() != was.Size() || !is.ModTime().Equal(was.ModTime())) {
		err = errChanged
	}
	if err != nil {
		f.Close()
		return nil, changed(path, err)
	}
	return f, nil
}

var errChanged = errors.New("size or time differs")

func changed(path string, err error) error {
	return &VotesError{File: path, What: "changed while it was in use", Why: "what is released must come from one set of votes", Fix: "run the command again on a file that nobody writes", Err: err}
}

// desk keeps the input in use open, and the room into which it is read.
type desk struct {
	input *votesInput
	file  inputFile
	buf   []byte
}

const deskBytes = 1 << 20

// at reads up to want bytes, at most deskBytes, from an offset of an input. It
// returns fewer at the end of the file only.
func (d *desk) at(in *votesInput, offset int64, want int) ([]byte, error) {
	if d.input != in {
		d.close()
		f, err := in.open()
		if err != nil {
			return nil, err
		}
		d.input, d.file = in, f
	}
	if left := in.size - offset; int64(want) > left {
		want = int(max(left, 0))
	}
	want = min(want, deskBytes)
	if want == 0 {
		return nil, nil
	}
	if len(d.buf) < want {
		d.buf = make([]byte, want)
	}
	n, err := d.file.ReadAt(d.buf[:want], offset)
	if n < want {
		return nil, changed(in.name, noEOF(err))
	}
	return d.buf[:want], nil
}

// close is for the end of use, when all inputs are checked once more by recheck.
func (d *desk) close() {
	if d.file != nil {
		d.file.Close() // was only read
	}
	d.input, d.file = nil, nil
}

// recheck opens an input anew, to see that it has not changed.
func (d *desk) recheck(in *votesInput) error {
	d.close()
	_, err := d.at(in, 0, 0)
	return err
}
