package quota

import (
	"context"
	"crypto/sha256"
	"encoding/binary"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/rng"
)

// Question is a public row on which units may vote.
type Question struct {
	ID     uint64
	Row    []float32 // features, as of the private rows
	Radius float64   // largest distance of a row that may vote
}

// Answer holds the noisy counts of a question, and the resulting label.
type Answer struct {
	Label  int     // class with the most noisy votes, the lowest in a tie; or aggregate.NoLabel if declined
	Counts []int64 // noisy votes of each class
}

// Session answers questions. Its methods must not be called concurrently.
type Session struct {
	m       *Mechanism
	voters  *voters
	streams *rng.Streams
	asked   uint64
}

// Ask lets units vote on the questions in order, and returns the noisy answers. The caller must store the
// questions durably before it reveals an answer. The caller must not ask a stored question again. If Ask
// fails, the session must not be used again.
func (s *Session) Ask(ctx context.Context, questions []Question) ([]Answer, error) {
	noise := make([]int64, 0, len(questions)*s.m.cfg.Classes) // drawn before any row is read
	for i, q := range questions {
		stream := s.streams.Of(q.ids(s.asked + uint64(i))...)
		for range s.m.cfg.Classes {
			noise = append(noise, s.m.noise.Sample(stream))
		}
	}
	counts, err := s.vote(ctx, questions)
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(questions))
	for i := range answers {
		from, to := i*s.m.cfg.Classes, (i+1)*s.m.cfg.Classes
		noisy := counts[from:to:to]
		for class := range noisy {
			noisy[class] += noise[from+class]
		}
		answers[i] = Answer{s.m.label(noisy), noisy}
	}
	return answers, nil
}

// Resume counts again the votes of each unit on a journal's questions. After a restart, the caller must
// resume all these questions, in journal order, before the first Ask.
func (s *Session) Resume(ctx context.Context, journal []Question) error {
	_, err := s.vote(ctx, journal)
	return err
}

func (s *Session) vote(ctx context.Context, questions []Question) ([]int64, error) {
	counts, err := s.voters.vote(ctx, questions)
	if err == nil {
		s.asked += uint64(len(questions))
	}
	return counts, err
}

// ids returns the identifiers of the noise of q. The index of q in the session is `place`. The identifiers
// include a hash of q. So different questions never share noise, even with equal ID and place after a journal
// is lost.
func (q Question) ids(place uint64) []uint64 {
	hash := sha256.Sum256(q.Append(nil))
	return []uint64{place, binary.LittleEndian.Uint64(hash[:]), binary.LittleEndian.Uint64(hash[8:])}
}

func (m *Mechanism) label(noisy []int64) int {
	best := dense.Argmax(noisy)
	for class, votes := range noisy {
		if class != best && float64(noisy[best]-votes) < m.cfg.Lead*m.noise.Sigma() {
			return aggregate.NoLabel
		}
	}
	return best
}
