package votes

import (
	"bytes"
	"context"
	"fmt"
)

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

func inMemory(files [][]byte) (in []*input, perTeacher bool) {
	for i, file := range files {
		in = append(in, &input{name: fmt.Sprintf("votes%d", i), size: int64(len(file)), open: func() (openInput, error) {
			return memory{bytes.NewReader(file)}, nil
		}})
	}
	return in, len(files) > 1
}

// OpenIn opens files that are in memory: one is a matrix, several are one for each teacher.
func OpenIn(opt Options, files ...[]byte) (*Source, error) {
	in, perTeacher := inMemory(files)
	return open(context.Background(), in, perTeacher, opt)
}

// OpenFull is OpenIn with less room for what is unpacked.
func OpenFull(opt Options, most int64, file []byte) (*Source, error) {
	in, _ := inMemory([][]byte{file})
	var err error
	if in[0], err = unpackInput(context.Background(), in[0], packingOf(file), &store{full: most}, opt); err != nil {
		return nil, err
	}
	return open(context.Background(), in, false, opt)
}

// Packed reports whether a file is unpacked before it is read.
func Packed(file []byte) bool { return packingOf(file) != "" }

// OpenInTiles is OpenIn with less room for columns.
func OpenInTiles(opt Options, cells int, file []byte) (*Source, error) {
	in, _ := inMemory([][]byte{file})
	s, err := newSource(context.Background(), in, false, opt)
	if err != nil {
		return nil, err
	}
	s.tile = cells
	s.hash, err = s.read(context.Background(), nil)
	return s, err
}

// CheckIn is Check for files that are in memory.
func CheckIn(opt Options, files ...[]byte) (*Report, error) {
	in, perTeacher := inMemory(files)
	s, err := newSource(context.Background(), in, perTeacher, opt)
	if err != nil {
		return nil, err
	}
	return s.check(context.Background(), perTeacher)
}

// ReadMatrix is Load from memory.
func ReadMatrix(file []byte, classes int) (*Matrix, error) {
	s, err := OpenIn(Options{Classes: classes}, file)
	if err != nil {
		return nil, err
	}
	return s.Load(context.Background())
}
