package dataset

import (
	"encoding/binary"
	"strings"
)

// textBlocks keeps many short texts in few blocks of memory.
type textBlocks struct{ last strings.Builder }

const blockOfTexts = 1 << 16

func (t *textBlocks) add(text []byte) string {
	if t.last.Cap()-t.last.Len() < len(text) {
		t.last = strings.Builder{}
		t.last.Grow(max(blockOfTexts, len(text)))
	}
	t.last.Write(text)
	return t.last.String()[t.last.Len()-len(text):]
}

// cellStore holds the cells of rows as text. The length of each cell precedes its text.
type cellStore struct {
	texts textBlocks
	rows  []string
	raw   []byte
}

func (s *cellStore) add(cells []string) (bytes int) {
	s.raw = s.raw[:0]
	for _, c := range cells {
		s.raw = append(binary.AppendUvarint(s.raw, uint64(len(c))), c...)
	}
	s.rows = append(s.rows, s.texts.add(s.raw))
	return len(s.raw)
}

func (s *cellStore) read(row int, cells []string) {
	text := s.rows[row]
	for j := range cells {
		n, size := binary.Uvarint([]byte(text))
		text = text[size:]
		cells[j], text = text[:n], text[n:]
	}
}
