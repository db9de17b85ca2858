package main

import (
	"bytes"
	"cmp"
	"compress/zlib"
	_ "embed"
	"encoding/binary"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/pate-go/pate/internal/tokens"
)

// trace holds the recorded answers of 64 teachers at the steps of seven texts (see teachers.py).
type trace struct {
	vocabulary int
	steps      []step
}

type step struct {
	list     []int       // the public model's 40 likeliest tokens, ascending
	public   []float64   // log-probabilities of list by the public model
	teachers [][]float64 // log-probabilities of list by each teacher
	text     int         // token of the text, which all later steps continue
	greedy   []int       // likeliest token of each teacher
}

//go:embed testdata/trace.bin
var recorded []byte

func readTrace() (trace, error) {
	unpacked, err := zlib.NewReader(bytes.NewReader(recorded))
	if err != nil {
		return trace{}, err
	}
	data, err := io.ReadAll(unpacked)
	r := bytes.NewReader(data)
	read := func(v any) {
		err = cmp.Or(err, binary.Read(r, binary.LittleEndian, v))
	}
	var head struct{ Steps, Teachers, Listed, Vocabulary uint16 }
	read(&head)
	listed := int(head.Listed)
	lists := make([]uint16, int(head.Steps)*listed)
	public := make([]int16, len(lists))
	votes := make([]uint16, int(head.Steps)*(1+int(head.Teachers)))
	shifts := make([]int8, len(lists)*int(head.Teachers))
	for _, column := range []any{lists, public, votes, shifts} {
		read(column)
	}
	t := trace{int(head.Vocabulary), make([]step, head.Steps)}
	for i := range t.steps {
		s := step{teachers: make([][]float64, head.Teachers)}
		for j := i * listed; j < (i+1)*listed; j++ {
			s.list, s.public = append(s.list, int(lists[j])), append(s.public, float64(public[j])/256)
			for k := range s.teachers {
				s.teachers[k] = append(s.teachers[k], float64(public[j])/256+float64(shifts[j*int(head.Teachers)+k])/8)
			}
		}
		for _, v := range votes[i*(1+int(head.Teachers)) : (i+1)*(1+int(head.Teachers))] {
			s.greedy = append(s.greedy, int(v))
		}
		s.text, s.greedy = s.greedy[0], s.greedy[1:]
		t.steps[i] = s
	}
	return t, err
}

func (s step) best() int {
	at := 0
	for i, l := range s.public {
		if l > s.public[at] {
			at = i
		}
	}
	return s.list[at]
}

func (s step) mean() []float64 {
	law := make([]float64, len(s.list))
	for _, row := range s.teachers {
		for i, l := range row {
			law[i] += math.Exp(l)
		}
	}
	return scaled(law)
}

func (t trace) count(votes []int) tokens.Counts {
	number := map[int]int64{}
	for _, v := range votes {
		number[v]++
	}
	c := tokens.Counts{Size: t.vocabulary, Tokens: slices.Sorted(maps.Keys(number))}
	for _, token := range c.Tokens {
		c.Votes = append(c.Votes, number[token])
	}
	return c
}

func (s step) most() int {
	number, best := map[int]int{}, s.greedy[0]
	for _, v := range s.greedy {
		number[v]++
	}
	for v, n := range number {
		if n > number[best] || n == number[best] && v < best {
			best = v
		}
	}
	return best
}
