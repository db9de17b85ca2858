package teachers

import (
	"bytes"
	"context"
	"fmt"
)

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// OpenVotesIn opens files that are in memory: one is a matrix, several are one
// for each teacher.
func OpenVotesIn(opt VotesOptions, files ...[]byte) (*VoteSource, error) {
	var in []*votesInput
	for i, file := range files {
		in = append(in, &votesInput{name: fmt.Sprintf("votes%d", i), size: int64(len(file)), open: func() (inputFile, error) {
			return memory{bytes.NewReader(file)}, nil
		}})
	}
	return openVotes(context.Background(), in, len(files) > 1, opt)
}

// ReadVotes is LoadVotes from memory.
func ReadVotes(file []byte, classes int) (*Votes, error) {
	s, err := OpenVotesIn(VotesOptions{Classes: classes}, file)
	if err != nil {
		return nil, err
	}
	return s.Load(context.Background())
}
