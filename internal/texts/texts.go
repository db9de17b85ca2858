// Package texts turns texts into features: TF-IDF weights of words, projected on directions and scaled to a
// fixed length. The words, weights and directions depend only on public texts, so encoding a private text has
// no privacy cost.
package texts

import (
	"cmp"
	"errors"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	shortest = 2      // characters of a word
	longest  = 40     // a longer word is ignored
	mostRead = 10_000 // words of a text; further words are ignored
	maxWords = 10_000 // words of a space
	maxDim   = 200    // directions of a space
	sampled  = 5_000  // public texts from which directions are computed
)

// Length is the Euclidean norm of the features of a text with known words.
const Length = 4

// Words iterates over the words of a text in lower case: maximal runs of 2 to 40 Unicode letters and numbers.
func Words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		read := 0
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
			if n := utf8.RuneCountInString(word); n < shortest || n > longest {
				continue
			}
			if read++; read > mostRead || !yield(strings.ToLower(word)) {
				return
			}
		}
	}
}

// Space is an encoding of texts that was fitted on public texts.
type Space struct {
	words      []string // sorted
	at         map[string]int
	weight     []float32 // inverse document frequency of each word
	dim        int
	directions []int16 // dim numbers for each word, in units of 1/32767
}

const unit = math.MaxInt16

type entry struct {
	word   int
	weight float64
}

// Fit returns the space of the words that occur in at least two public texts. If there are more than 10,000
// of these words, the space keeps the 10,000 that occur in the most texts.
func Fit(public []string) (*Space, error) {
	in := map[string]int{}
	for _, text := range public {
		seen := map[string]bool{}
		for word := range Words(text) {
			seen[word] = true
		}
		for word := range seen {
			in[word]++
		}
	}
	maps.DeleteFunc(in, func(_ string, n int) bool { return n < 2 })
	words := slices.SortedFunc(maps.Keys(in), func(a, b string) int { return cmp.Or(cmp.Compare(in[b], in[a]), cmp.Compare(a, b)) })
	s := &Space{words: slices.Clone(words[:min(len(words), maxWords)])}
	slices.Sort(s.words)
	s.index()
	for _, word := range s.words {
		s.weight = append(s.weight, float32(math.Log(float64(1+len(public))/float64(1+in[word]))+1))
	}
	picked := make([][]entry, min(len(public), sampled))
	for i := range picked {
		picked[i] = s.weigh(public[i*len(public)/len(picked)])
	}
	directions := rightDirections(picked, len(s.words), dimOf(len(public)))
	if directions == nil {
		return nil, errors.New("texts: hardly a word is in two of the public texts")
	}
	s.dim = len(directions) / len(s.words)
	for _, v := range directions {
		s.directions = append(s.directions, int16(math.Round(v*unit)))
	}
	return s, nil
}

func dimOf(texts int) int { return min(maxDim, max(10, texts/10)) }

func (s *Space) index() {
	s.at = make(map[string]int, len(s.words))
	for i, word := range s.words {
		s.at[word] = i
	}
}

// Dim returns the number of features.
func (s *Space) Dim() int   { return s.dim }
func (s *Space) Words() int { return len(s.words) }

func (s *Space) weigh(text string) []entry {
	count := map[int]int{}
	for word := range Words(text) {
		if at, known := s.at[word]; known {
			count[at]++
		}
	}
	row := make([]entry, 0, len(count))
	square := 0.0
	for _, at := range slices.Sorted(maps.Keys(count)) {
		w := (1 + math.Log(float64(count[at]))) * float64(s.weight[at])
		row = append(row, entry{at, w})
		square += w * w
	}
	for i := range row {
		row[i].weight /= math.Sqrt(square)
	}
	return row
}

// Encode writes the features of a text to dst. If s contains no word of the text, all features are 0.
func (s *Space) Encode(dst []float32, text string) {
	sum := make([]float64, s.dim)
	for _, e := range s.weigh(text) {
		for j, v := range s.directions[e.word*s.dim : (e.word+1)*s.dim] {
			sum[j] += e.weight * float64(v)
		}
	}
	square := 0.0
	for _, v := range sum {
		square += v * v
	}
	for j, v := range sum {
		dst[j] = 0
		if square > 0 {
			dst[j] = float32(Length * v / math.Sqrt(square))
		}
	}
}
