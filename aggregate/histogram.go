package aggregate

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Abstain is the vote of a teacher that abstains.
const Abstain = -1

// maxCount bounds each vote count, so that count plus noise does not overflow int64.
const maxCount = 1 << 40

// Histogram holds the number of votes for each class on one query. The counts are private: printing and
// logging give redacted text, and MarshalJSON fails. The zero Histogram is invalid.
type Histogram struct {
	sealed *sealed
}

type sealed struct {
	counts *[]int64
}

func seal(classes int) ([]int64, Histogram) {
	var own struct {
		sealed sealed
		counts []int64
		few    [10]int64
	}
	room := &own
	if room.counts = room.few[:]; classes > len(room.few) {
		room.counts = make([]int64, classes)
	}
	room.counts = room.counts[:classes:classes]
	room.sealed.counts = &room.counts
	return room.counts, Histogram{&room.sealed}
}

const redacted = "aggregate.Histogram(redacted)"

// NewHistogram returns a histogram with a copy of counts. There must be at least two counts, each in [0,
// 2^40].
func NewHistogram(counts []int) (Histogram, error) {
	if len(counts) < 2 {
		return Histogram{}, fmt.Errorf("aggregate: a histogram needs at least 2 classes, not %d", len(counts))
	}
	own, h := seal(len(counts))
	for class, n := range counts {
		if n < 0 || int64(n) > maxCount {
			return Histogram{}, fmt.Errorf("aggregate: count of class %d is outside [0, 2^40]", class)
		}
		own[class] = int64(n)
	}
	return h, nil
}

// CountVotes returns the histogram of the votes, one per teacher. A vote is a class in [0, classes) or
// [Abstain].
func CountVotes(votes []int, classes int) (Histogram, error) {
	if classes < 2 {
		return Histogram{}, fmt.Errorf("aggregate: a histogram needs at least 2 classes, not %d", classes)
	}
	own, h := seal(classes)
	for teacher, v := range votes {
		if v == Abstain {
			continue
		}
		if v < 0 || v >= classes {
			return Histogram{}, fmt.Errorf("aggregate: vote of teacher %d is outside [0, %d)", teacher, classes)
		}
		own[v]++
	}
	return h, nil
}

// Classes returns the public number of classes, or 0 for the zero Histogram.
func (h Histogram) Classes() int { return len(h.counts()) }

// Reveal returns a copy of the private counts, for planning, teaching and non-private baselines.
func (h Histogram) Reveal() []int {
	out := make([]int, h.Classes())
	for i, n := range h.counts() {
		out[i] = int(n)
	}
	return out
}

func (h Histogram) counts() []int64 {
	if h.sealed == nil {
		return nil
	}
	return *h.sealed.counts
}

func (h Histogram) check() error {
	if h.sealed == nil {
		return errors.New("aggregate: zero Histogram: make one with NewHistogram or CountVotes")
	}
	return nil
}

// MarshalJSON always fails, to keep the votes out of logs and results.
func (h Histogram) MarshalJSON() ([]byte, error) {
	return nil, errors.New("aggregate: a Histogram is private and has no JSON form; Reveal is the way around")
}

func (h Histogram) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

func (h Histogram) String() string { return redacted }

func (h Histogram) LogValue() slog.Value { return slog.StringValue(redacted) }
