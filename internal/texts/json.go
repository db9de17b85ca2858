package texts

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/pate-go/pate/internal/mathx"
)

type spaceJSON struct {
	Words      []string  `json:"words"`
	Weights    []float32 `json:"weights"`
	Features   int       `json:"features"`
	Length     float64   `json:"length"`
	Directions []byte    `json:"directions"` // base64 of little-endian int16: Features numbers for each word
}

// MarshalJSON encodes the space, which depends only on public texts.
func (s *Space) MarshalJSON() ([]byte, error) {
	out := spaceJSON{Words: s.words, Weights: s.weight, Features: s.dim, Length: Length}
	for _, v := range s.directions {
		out.Directions = binary.LittleEndian.AppendUint16(out.Directions, uint16(v))
	}
	return json.Marshal(out)
}

// UnmarshalJSON decodes the output of MarshalJSON. Any other input is an error and leaves s unchanged.
func (s *Space) UnmarshalJSON(text []byte) error {
	var in spaceJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return fmt.Errorf("texts: not a space: %w", err)
	}
	n := len(in.Words)
	if n > maxWords || in.Features < 1 || in.Features > maxDim || in.Length != Length || len(in.Weights) != n ||
		len(in.Directions) != 2*n*in.Features {
		return fmt.Errorf("texts: not a space: %d words, %d weights, %d features, length %v, %d bytes of directions",
			n, len(in.Weights), in.Features, in.Length, len(in.Directions))
	}
	read := Space{words: in.Words, weight: in.Weights, dim: in.Features}
	for i, word := range in.Words {
		if i > 0 && in.Words[i-1] >= word || utf8.RuneCountInString(word) > longest+longest {
			return fmt.Errorf("texts: not a space: word %d is too long, or not in order", i)
		}
		if w := in.Weights[i]; !(w > 0 && mathx.IsFinite(w)) {
			return fmt.Errorf("texts: not a space: weight %v", w)
		}
	}
	for at := range slices.Chunk(in.Directions, 2) {
		read.directions = append(read.directions, int16(binary.LittleEndian.Uint16(at)))
	}
	read.index()
	*s = read
	return nil
}
