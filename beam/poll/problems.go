package poll

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/pate-go/pate/teachers/votes"
)

// What must not be.
const (
	twice = iota
	noTeacher
	noClass
	noQuery
	problems // how many there are
)

// problem counts votes that must not be. It names the one with the lowest query, and of
// these the lowest teacher, so that a message does not depend on the order of votes.
type problem struct {
	n, query int64
	teacher  int32
}

func (p *problem) add(v Vote) { p.merge(problem{1, v.Query, v.Teacher}) }

func (p *problem) merge(from problem) {
	if from.n > 0 && (p.n == 0 || from.query < p.query || from.query == p.query && from.teacher < p.teacher) {
		p.query, p.teacher = from.query, from.teacher
	}
	p.n += from.n
}

// check returns an error if the votes of a whole poll are such that their counts would
// protect nobody, or are no votes. It names queries and teachers and no class.
func (s *state) check() error {
	var found []string
	for k, p := range s.problems {
		if p.n == 0 {
			continue
		}
		what := [problems]string{
			twice:     "votes beyond the first of a teacher on a query",
			noTeacher: fmt.Sprintf("votes of none of the %d teachers", s.poll.Teachers),
			noClass:   fmt.Sprintf("votes for none of the %d classes", s.poll.Classes),
			noQuery:   fmt.Sprintf("votes on none of the %d queries", s.poll.Queries),
		}[k]
		found = append(found, fmt.Sprintf("%d %s: teacher %d on query %d", p.n, what, p.teacher, p.query))
	}
	if a, b, equal := s.equalTeachers(); equal {
		found = append(found, fmt.Sprintf("teachers %d and %d vote alike everywhere: one model voting twice moves two votes", a, b))
	}
	if found == nil {
		return nil
	}
	return errors.New("poll: the votes fail a check, and no counts are written: " + strings.Join(found, "; "))
}

// equalTeachers returns two teachers with equal votes who are neither silent nor constant,
// unless chance makes such pairs.
func (s *state) equalTeachers() (a, b int, equal bool) {
	n := float64(s.poll.Teachers)
	if n*(n-1)/2*math.Exp(s.logChance) > votes.MaxChance {
		return 0, 0, false
	}
	seen := make(map[voter]int, len(s.voters))
	for t, v := range s.voters {
		if v.votes == 0 || v.votes > 1 && v.low == v.high {
			continue
		}
		if first, there := seen[v]; there {
			return first, t, true
		}
		seen[v] = t
	}
	return 0, 0, false
}

// logAgree returns the logarithm of the chance that two of the teachers answered a query
// alike, an abstention being an answer.
func logAgree(counts []uint32, teachers int) float64 {
	missing := float64(teachers)
	var alike float64
	for _, k := range counts {
		missing -= float64(k)
		alike += float64(k) * float64(int64(k)-1)
	}
	n := float64(teachers)
	if n < 2 {
		return 0
	}
	return math.Log((alike + missing*(missing-1)) / (n * (n - 1)))
}
