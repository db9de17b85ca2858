package outside

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Pair is two neighbouring inputs.
type Pair struct {
	Name          string
	First, Second Input
	Groups        []int // see Answer.Outcome
}

// Votes describes crafted votes.
type Votes struct {
	Teachers, Classes, Queries int
	Counts                     bool // each row holds the number of votes for each class, not the vote of each teacher
}

// Pairs returns pairs of neighbouring crafted votes. Each pair has a different lead of class 0 over class 1.
// In the second input, one teacher moves its vote in each query from the largest class to the second. If rnd
// is nil, all queries have this lead. Otherwise, all queries but the first have random votes, mostly for one
// class.
func (v Votes) Pairs(rnd *rand.Rand) (pairs []Pair) {
	rows := make([][]int, v.Queries) // counts
	for q := range rows {
		rows[q] = make([]int, v.Classes)
		for right := 0; q > 0 && rnd != nil && right < v.Teachers; right++ {
			rows[q][(q+max(0, rnd.IntN(5*v.Classes)-4*v.Classes))%v.Classes]++
		}
	}
	for lead := v.Teachers % 2; ; lead = min(v.Teachers, lead+max(2, lead/4*2)) {
		for q := range rows {
			if q == 0 || rnd == nil {
				rows[q][1] = (v.Teachers - lead) / 2
				rows[q][0] = v.Teachers - rows[q][1]
			}
		}
		pairs = append(pairs, v.pair(fmt.Sprintf("lead %d", lead), rows))
		if lead == v.Teachers {
			return pairs
		}
	}
}

func (v Votes) pair(name string, rows [][]int) Pair {
	p, known := Pair{Name: name}, map[string]int{}
	for q, counts := range rows {
		order := make([]int, len(counts))
		for k := range order {
			order[k] = k
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(counts[b], counts[a]) })
		one, two := counts, slices.Clone(counts)
		two[order[0]]--
		two[order[1]]++
		if !v.Counts {
			one = nil
			for _, k := range order {
				one = append(one, slices.Repeat([]int{k}, counts[k])...)
			}
			two = slices.Clone(one)
			two[0] = order[1] // the first teacher voted for order[0]
		}
		line := func(row []int) string {
			return strings.ReplaceAll(strings.Trim(fmt.Sprint(row), "[]"), " ", ",") + "\n"
		}
		if _, found := known[line(counts)]; !found {
			known[line(counts)] = q
		}
		p.Groups = append(p.Groups, known[line(counts)])
		p.First.Data, p.Second.Data = append(p.First.Data, line(one)...), append(p.Second.Data, line(two)...)
	}
	return p
}

func read(file []byte) ([][]string, error) {
	rows, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err == nil && len(rows) < 2 {
		err = errors.New("has less than two lines")
	}
	return rows, err
}

func encoded(rows [][]string) []byte {
	var b bytes.Buffer
	_ = csv.NewWriter(&b).WriteAll(rows) // a buffer has no errors
	return b.Bytes()
}

// Given returns at most 8 pairs from a CSV file with one row of votes per query. If the first line has no
// cell in common with the second line, it is a header. Each pair changes one teacher's vote in every query to
// the most frequent other class.
func Given(file []byte) (pairs []Pair, err error) {
	rows, err := read(file)
	if err != nil {
		return nil, err
	}
	first := 0
	if !slices.ContainsFunc(rows[0], func(cell string) bool { return slices.Contains(rows[1], cell) }) {
		first = 1
	}
	for j := 0; j < len(rows[0]); j += (len(rows[0]) + 7) / 8 {
		p, changed := Pair{Name: fmt.Sprintf("teacher %d", j), First: Input{Data: encoded(rows)}}, slices.Clone(rows)
		for q := first; q < len(rows); q++ {
			counts, best := map[string]int{}, rows[q][j]
			for _, vote := range rows[q] {
				if vote != "" && vote != "-1" && vote != rows[q][j] {
					if counts[vote]++; counts[vote] > counts[best] {
						best = vote
					}
				}
			}
			changed[q] = slices.Clone(rows[q])
			changed[q][j] = best
			p.Groups = append(p.Groups, q)
		}
		p.Second.Data = encoded(changed)
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// Tables returns pairs for a labeller that trains on a table. Only the first input of a pair has a canary: a
// row of the file, repeated `copies` times with a wrong label. The question is the canary without its label.
// In half of the pairs, all numeric features of the canary are 1e6.
func Tables(file []byte, label string, copies int) (pairs []Pair, err error) {
	rows, err := read(file)
	if err != nil {
		return nil, err
	}
	column := slices.Index(rows[0], label)
	if column < 0 && label != "" {
		return nil, fmt.Errorf("has no column %s", label)
	}
	for i := range 4 {
		at := 1 + i/2*(len(rows)-2)
		canary, names := slices.Clone(rows[at]), slices.Clone(rows[0])
		for c, cell := range canary {
			if _, err := strconv.ParseFloat(cell, 64); err == nil && i%2 == 0 && c != column {
				canary[c] = "1e6"
			}
		}
		question := slices.Clone(canary)
		if column >= 0 {
			if k := slices.IndexFunc(rows[1:], func(row []string) bool { return row[column] != canary[column] }); k >= 0 {
				canary[column] = rows[1+k][column]
			}
			question, names = slices.Delete(question, column, column+1), slices.Delete(names, column, column+1)
		}
		asked, with := encoded([][]string{names, question}), slices.Concat(rows, slices.Repeat([][]string{canary}, copies))
		pairs = append(pairs, Pair{fmt.Sprintf("canary %s", strings.Join(canary, ",")), Input{encoded(with), asked},
			Input{encoded(rows), asked}, []int{0}})
	}
	return pairs, nil
}
