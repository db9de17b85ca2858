package teachers

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/pate-go/pate/internal/durable"
)

// Save writes the votes to path as an NPY file, version 1.0: int8 up to 127
// classes, little-endian int16 beyond, C order, shape (queries, teachers), -1
// for an abstention. The file is wholly there or not there, and has mode 0600:
// votes are as secret as the data they were learned from.
func (v Votes) Save(path string) error {
	err := durable.WriteFile(path, 0o600, func(w io.Writer) error {
		typ := "|i1"
		if v.narrow == nil {
			typ = "<i2"
		}
		if err := writeNPYHeader(w, npyHeader{typ: typ, rows: v.queries, cols: v.teachers}); err != nil {
			return err
		}
		buf := make([]byte, 0, 2*v.teachers)
		for q := range v.queries {
			buf = v.appendRow(buf[:0], q)
			if _, err := w.Write(buf); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("teachers: saving votes: %w", err)
	}
	return nil
}

// LoadVotes reads the NPY file at path; see [ReadVotes].
func LoadVotes(path string, classes int) (*Votes, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("teachers: loading votes: %w", err)
	}
	defer f.Close()
	v, err := ReadVotes(f, classes)
	if err != nil {
		return nil, fmt.Errorf("%w (file %s)", err, path)
	}
	return v, nil
}

// ReadVotes reads an NPY file of version 1, 2 or 3 that holds int8 or int16
// (either byte order) in C order with shape (queries, teachers). The format
// does not tell the number of classes; it is public and never guessed from the
// votes. A vote outside [-1, classes), missing and surplus bytes are refused.
// Memory is used as the bytes arrive, whatever the header claims.
func ReadVotes(r io.Reader, classes int) (*Votes, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	head, err := readNPYHeader(in)
	if err != nil {
		return nil, err
	}
	if err := checkVoteShape(head.rows, head.cols, classes); err != nil {
		return nil, err
	}
	cell, size, err := cellOf(head.typ)
	if err != nil {
		return nil, err
	}
	v := newVotes(0, head.cols, classes)
	line := make([]byte, head.cols*size) // at most 2 MB: cols <= MaxTeachers
	for q := range head.rows {
		if _, err := io.ReadFull(in, line); err != nil {
			return nil, fmt.Errorf("teachers: votes end in row %d of %d: %w", q, head.rows, noEOF(err))
		}
		for t := range head.cols {
			vote := cell(line[t*size:])
			if vote < Abstention || vote >= classes {
				return nil, fmt.Errorf("teachers: row %d, column %d: vote outside [-1, %d)", q, t, classes)
			}
			if v.narrow != nil {
				v.narrow = append(v.narrow, int8(vote))
			} else {
				v.wide = append(v.wide, int16(vote))
			}
		}
		v.queries++
	}
	if _, err := in.ReadByte(); err != io.EOF {
		if err != nil {
			return nil, fmt.Errorf("teachers: reading votes: %w", err)
		}
		return nil, fmt.Errorf("teachers: votes go on after the %d rows of the header", head.rows)
	}
	return v, nil
}

// cellOf returns how to read one element, and its bytes.
func cellOf(typ string) (read func([]byte) int, size int, err error) {
	switch typ {
	case "|i1", "<i1", ">i1", "=i1", "i1":
		return func(b []byte) int { return int(int8(b[0])) }, 1, nil
	case "<i2":
		return func(b []byte) int { return int(int16(binary.LittleEndian.Uint16(b))) }, 2, nil
	case ">i2":
		return func(b []byte) int { return int(int16(binary.BigEndian.Uint16(b))) }, 2, nil
	}
	return nil, 0, fmt.Errorf("teachers: votes of NPY type %.16q, want int8 or int16", typ)
}

// noEOF makes a clean end of file an unexpected one.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
