package dataset

import (
	"encoding/binary"
	"strings"
)

// cellStore holds the cells of rows as text. The length of each cell precedes its text.
type cellStore struct {
	texts []*strings.Builder
	rows  []uint64 // index in texts and, in the lower half, offset of each row
	raw   []byte
}

const storeBytes = 1 << 20

func (s *cellStore) add(cells []string) (bytes int) {
	s.raw = s.raw[:0]
	for _, c := range cells {
		s.raw = append(binary.AppendUvarint(s.raw, uint64(len(c))), c...)
	}
	last := len(s.texts) - 1
	if last < 0 || s.texts[last].Cap()-s.texts[last].Len() < len(s.raw) {
		text := &strings.Builder{}
		text.Grow(max(storeBytes, len(s.raw)))
		s.texts, last = append(s.texts, text), last+1
	}
	s.rows = append(s.rows, uint64(last)<<32|uint64(s.texts[last].Len()))
	s.texts[last].Write(s.raw)
	return len(s.raw)
}

func (s *cellStore) read(row int, cells []string) {
	at := s.rows[row]
	text := s.texts[at>>32].String()[uint32(at):]
	for j := range cells {
		n, size := uint64(text[0]), 1
		if n >= 0x80 {
			n, size = binary.Uvarint([]byte(text[:min(len(text), binary.MaxVarintLen64)]))
		}
		text = text[size:]
		cells[j], text = text[:n], text[n:]
	}
}
