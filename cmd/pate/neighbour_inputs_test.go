package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pate-go/pate/internal/npy"
)

// neighbour is a private input. The first of a list has an ordinary unit, each other an odd one
// in its place.
type neighbour struct {
	name  string
	files map[string][]byte
	// refused inputs release nothing, and the message is for the owner alone.
	refused bool
	// removed has one unit fewer, so their number is another one.
	removed bool
}

// matrices are x.npy, y.npy and u.npy: sixty rows of thirty units or, without units, of sixty.
func matrices(grouped bool) (found []neighbour) {
	const rows = 60
	add := func(name string, label, unit, times int64, cells ...float64) {
		n := rows + int(times)
		at := func(i, j int) float64 {
			if i >= rows {
				return cells[j]
			}
			return 3*float64(i%2) + noise(i, j)
		}
		files := map[string][]byte{
			"x.npy": npyFile(n, 3, at),
			"y.npy": integers(n, func(i int) int64 {
				if i >= rows {
					return label
				}
				return int64(i % 2)
			}),
		}
		if grouped {
			files["u.npy"] = integers(n, func(i int) int64 {
				if i >= rows {
					return unit
				}
				return int64(i / 2)
			})
		}
		found = append(found, neighbour{name: name, files: files, removed: times == 0})
	}
	add("ordinary", 1, 77, 1, 3.5, 3.5, 3.5)
	add("removed", 1, 77, 0)
	add("not a number", 1, 77, 1, math.NaN(), 1, 1)
	add("infinite", 1, 77, 1, math.Inf(1), math.Inf(-1), 1)
	add("largest", 1, 77, 1, math.MaxFloat32, -math.MaxFloat32, 1)
	add("subnormal", 1, 77, 1, math.SmallestNonzeroFloat32, 0, math.Copysign(0, -1))
	add("zero", 1, 77, 1, 0, 0, 0)
	add("far", 1, 77, 1, -300, 500, .25)
	add("another class", 0, 77, 1, .5, .5, .5)
	add("new class", 9, 77, 1, .5, .5, .5)
	add("negative class", -1, 77, 1, .5, .5, .5)
	add("largest class", math.MaxInt64, 77, 1, .5, .5, .5)
	if grouped {
		for name, unit := range map[string]int64{"negative unit": math.MinInt64, "largest unit": math.MaxInt64 - 99} {
			for place("literature", fmt.Sprint(unit)) >= 0.7 { // public
				unit++
			}
			add(name, 1, unit, 1, .5, .5, .5)
		}
		add("400 rows", 1, 77, 400, .5, .5, .5)
	}
	slices.SortStableFunc(found[1:], func(a, b neighbour) int { return strings.Compare(a.name, b.name) })
	return found
}

// integers is an NPY file of one column of int64.
func integers(rows int, at func(i int) int64) []byte {
	var b bytes.Buffer
	_ = npy.WriteHeader(&b, npy.Header{Type: "<i8", Shape: []int{rows}})
	for i := range rows {
		b.Write(binary.LittleEndian.AppendUint64(nil, uint64(at(i))))
	}
	return b.Bytes()
}

// pictures are folders of idx files, of which one training image is another one.
func pictures() (found []neighbour) {
	const side, train, test = 10, 40, 12
	add := func(name string, change func(images, labels []byte)) {
		files := map[string][]byte{}
		for prefix, n := range map[string]int{"train": train, "t10k": test} {
			r := rand.New(rand.NewPCG(uint64(n), 0))
			images, labels := make([]byte, n*side*side), make([]byte, n)
			for i := range images {
				images[i] = byte(r.IntN(256))
			}
			for i := range labels {
				labels[i] = byte(i % 2)
			}
			if prefix == "train" {
				change(images, labels)
			}
			files["images/"+prefix+"-images-idx3-ubyte"], files["images/"+prefix+"-labels-idx1-ubyte"] = idx(images, n, side, side), idx(labels, n)
		}
		found = append(found, neighbour{name: name, files: files})
	}
	add("ordinary", func(_, _ []byte) {})
	add("another class", func(_, labels []byte) { labels[7] ^= 1 })
	add("new class", func(_, labels []byte) { labels[7] = 200 })
	add("black", func(images, _ []byte) { clear(images[:side*side]) })
	add("white", func(images, _ []byte) { copy(images, bytes.Repeat([]byte{255}, side*side)) })
	return found
}

// ballots are votes of sixty teachers on twenty queries, in v.csv, and on forty more with
// known labels, in known.csv. One teacher votes otherwise.
func ballots() (found []neighbour) {
	add := func(name string, refused bool, of func(query int) string) {
		files := map[string][]byte{}
		for file, queries := range map[string]int{"v.csv": 20, "known.csv": 40} {
			rnd := rand.New(rand.NewPCG(7, uint64(queries)))
			var text strings.Builder
			for q := range queries {
				for teacher := range 60 {
					vote := fmt.Sprint(q % 3)
					if rnd.IntN(8) == 0 {
						vote = fmt.Sprint(rnd.IntN(3))
					}
					if teacher == 3 && of != nil {
						vote = of(q)
					}
					text.WriteString(strings.Repeat(",", min(teacher, 1)) + vote)
				}
				text.WriteString("\n")
			}
			files[file] = []byte(text.String())
		}
		found = append(found, neighbour{name: name, files: files, refused: refused})
	}
	always := func(vote string) func(int) string { return func(int) string { return vote } }
	add("ordinary", false, nil)
	add("abstains", false, always(""))
	add("minus one", false, always("-1"))
	add("another", false, func(q int) string { return fmt.Sprint((q + 1) % 3) })
	add("constant", false, always("2"))
	add("always right", false, func(q int) string { return fmt.Sprint(q % 3) })
	add("changing", false, func(q int) string { return fmt.Sprint(q * q % 3) })
	add("half", false, func(q int) string { return []string{"", "1"}[q%2] })
	for name, vote := range map[string]string{"no class": "3", "largest": "9223372036854775807", "beyond": "1e400", "fraction": "1.5", "not a number": "NaN", "words": "x",
		"minus two": "-2", "bad UTF-8": "\xff"} {
		add(name, true, always(vote))
	}
	slices.SortStableFunc(found[1:], func(a, b neighbour) int { return strings.Compare(a.name, b.name) })
	return found
}

// counted are the counts of ballots.
func counted() (found []neighbour) {
	for _, b := range ballots() {
		if b.refused {
			continue
		}
		var text strings.Builder
		for line := range strings.Lines(string(b.files["v.csv"])) {
			var counts [3]int
			for vote := range strings.SplitSeq(strings.TrimSpace(line), ",") {
				if vote != "" && vote != "-1" {
					counts[vote[0]-'0']++
				}
			}
			fmt.Fprintf(&text, "%d,%d,%d\n", counts[0], counts[1], counts[2])
		}
		files := maps.Clone(b.files)
		files["v.csv"] = []byte(text.String())
		found = append(found, neighbour{name: b.name, files: files})
	}
	return found
}

// probabilities are those of thirty teachers, of which one has others.
func probabilities() (found []neighbour) {
	add := func(name string, refused bool, of func(query int) string) {
		files := map[string][]byte{}
		rnd := rand.New(rand.NewPCG(9, 10))
		for teacher := range 30 {
			var text strings.Builder
			for q := range 20 {
				row := [3]int{10, 10, 10}
				row[q%3] += 60 + rnd.IntN(11)
				row[rnd.IntN(3)] += 100 - row[0] - row[1] - row[2]
				line := fmt.Sprintf("0.%d,0.%d,0.%d", row[0], row[1], row[2])
				if teacher == 4 && of != nil {
					line = of(q)
				}
				text.WriteString(line + "\n")
			}
			files[fmt.Sprintf("p/%02d.csv", teacher)] = []byte(text.String())
		}
		found = append(found, neighbour{name: name, files: files, refused: refused})
	}
	sure := [3]string{"1,0,0", "0,1,0", "0,0,1"}
	always := func(line string) func(int) string { return func(int) string { return line } }
	add("ordinary", false, nil)
	add("sure", false, func(q int) string { return sure[q%3] })
	add("another", false, func(q int) string { return sure[(q+1)%3] })
	add("not a number", true, always("NaN,0,0"))
	add("beyond one", true, always("2,0,0"))
	add("undecided", false, always("0.3333333333,0.3333333333,0.3333333334"))
	add("rounded", false, always("0.34,0.34,0.34"))
	add("constant", false, always("1e-9,0,0.999999999"))
	return found
}
