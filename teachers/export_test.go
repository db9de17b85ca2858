package teachers

import (
	"bytes"
	"context"
	"fmt"
)

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

func inMemory(files [][]byte) (in []*votesInput, perTeacher bool) {
	for i, file := range files {
		in = append(in, &votesInput{name: fmt.Sprintf("votes%d", i), size: int64(len(file)), open: func() (inputFile, error) {
			return memory{bytes.NewReader(file)}, nil
		}})
	}
	return in, len(files) > 1
}

// OpenVotesIn opens files that are in memory: one is a matrix, several are one
// for each teacher.
func OpenVotesIn(opt VotesOptions, files ...[]byte) (*VoteSource, error) {
	in, perTeacher := inMemory(files)
	return openVotes(context.Background(), in, perTeacher, opt)
}

// OpenVotesInTiles is OpenVotesIn with less room for columns.
func OpenVotesInTiles(opt VotesOptions, cells int, file []byte) (*VoteSource, error) {
	in, _ := inMemory([][]byte{file})
	s, err := shapeVotes(context.Background(), in, false, opt)
	if err != nil {
		return nil, err
	}
	s.tile = cells
	return s, s.read(context.Background())
}

// CheckVotesIn is CheckVotes for files that are in memory.
func CheckVotesIn(opt VotesOptions, files ...[]byte) (*VotesReport, error) {
	in, perTeacher := inMemory(files)
	return checkVotes(context.Background(), in, perTeacher, opt)
}

// ReadVotes is LoadVotes from memory.
func ReadVotes(file []byte, classes int) (*Votes, error) {
	s, err := OpenVotesIn(VotesOptions{Classes: classes}, file)
	if err != nil {
		return nil, err
	}
	return s.Load(context.Background())
}
