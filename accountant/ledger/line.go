package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"

	"github.com/pate-go/pate/accountant"
)

const maxLine = 1 << 20

type kind uint8

const (
	headerLine  kind = iota + 1 // {"line":1,"schema":"pate.ledger/2","header":{…},
	runLine                     // {"line":2,"run":1,"id":"…",
	reserveLine                 // {"line":3,"run":1,"reserve":1,"event":{…},"epsilon":…, ("run" only for a named run)
	sealLine                    // {"line":4,"seal":1,"epsilon":…, (and "accountant":"…" unless the ledger's is rdp)
	commitLine                  // {"line":5,"commit":1,"outcome":"…",
	tornLine                    // {"line":6,"torn":"…",
)

// A line ends in
//
//	"prev":"…","check":"…"}
//
// The field prev is the SHA-256 of the previous line and reveals changes of earlier lines. The field check is
// the CRC-32C of the earlier bytes of this line and reveals changes of the last line. A line has only one
// valid form.

type line struct {
	number  int64
	kind    kind
	run     int64  // runLine: index of the run; reserveLine: index of its run, or 0
	entry   int64  // reserveLine: index of the entry; commitLine: index of the committed entry; sealLine: number of entries
	text    []byte // JSON of the header, the event, the id of the run, or the torn fragment
	epsilon float64
	by      accountant.Method // sealLine: accountant that proved the seal; "" for a ledger of ByRDP
	outcome [sha256.Size]byte
	prev    [sha256.Size]byte
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (l *line) encode(dst []byte) []byte {
	start := len(dst)
	field := func(name string, n int64) {
		dst = append(dst, name...)
		dst = strconv.AppendInt(dst, n, 10)
	}
	field(`{"line":`, l.number)
	switch l.kind {
	case headerLine:
		dst = append(append(dst, `,"schema":"`+schema+`","header":`...), l.text...)
	case runLine:
		field(`,"run":`, l.run)
		dst = append(append(dst, `,"id":`...), l.text...)
	case reserveLine:
		if l.run != 0 {
			field(`,"run":`, l.run)
		}
		field(`,"reserve":`, l.entry)
		dst = append(append(dst, `,"event":`...), l.text...)
		dst = strconv.AppendFloat(append(dst, `,"epsilon":`...), l.epsilon, 'g', -1, 64)
	case sealLine:
		field(`,"seal":`, l.entry)
		dst = strconv.AppendFloat(append(dst, `,"epsilon":`...), l.epsilon, 'g', -1, 64)
		if l.by != "" {
			dst = append(append(append(dst, `,"accountant":"`...), l.by...), '"')
		}
	case commitLine:
		field(`,"commit":`, l.entry)
		dst = hex.AppendEncode(append(dst, `,"outcome":"`...), l.outcome[:])
		dst = append(dst, '"')
	case tornLine:
		dst = append(append(dst, `,"torn":`...), l.text...)
	}
	dst = hex.AppendEncode(append(dst, `,"prev":"`...), l.prev[:])
	dst = append(dst, '"')
	sum := crc32.Checksum(dst[start:], castagnoli)
	dst = hex.AppendEncode(append(dst, `,"check":"`...), binary.BigEndian.AppendUint32(nil, sum))
	return append(dst, `"}`...)
}

func (l *line) claim(total Claim, h header) {
	if l.epsilon = total.Epsilon; h.Accountant != accountant.ByRDP {
		l.by = total.By
	}
}

var (
	errShort = errors.New("the line is cut off")           // the text is the start of a valid line
	errMore  = errors.New("there is text after the entry") // the text is a valid line followed by other bytes
)

// decode parses one line without its newline. The result shares memory with text. If the line is cut off, the
// error is errShort, and the result has the fields before the cut.
func decode(text []byte) (line, error) {
	s := scanner{rest: text}
	var l line
	s.literal(`{"line":`)
	l.number = s.integer()
	s.literal(`,"`)
	// If the line is cut off after this letter, the letter shows whether the line can be a charge.
	switch {
	case bytes.HasPrefix(s.rest, []byte("c")):
		l.kind = commitLine
	case bytes.HasPrefix(s.rest, []byte("s")):
		l.kind = sealLine
	}
	switch s.key("schema", "run", "reserve", "seal", "commit", "torn") {
	case "schema":
		l.kind = headerLine
		if s.quoted(); s.err == nil && string(s.last) != `"`+schema+`"` {
			return l, fmt.Errorf("the schema is %s, but this version reads %q", s.last, schema)
		}
		s.literal(`,"header":`)
		l.text = s.extent('{')
	case "run":
		l.run = s.integer()
		if s.err != nil { // run and kind are unknown
			break
		}
		s.literal(`,"`)
		if s.key("id", "reserve") == "id" {
			l.kind = runLine
			l.text = s.quoted()
			break
		}
		s.reservation(&l)
	case "reserve":
		s.reservation(&l)
	case "seal":
		l.kind = sealLine
		l.entry = s.integer()
		s.literal(`,"epsilon":`)
		l.epsilon = s.number()
		l.by = s.method()
	case "commit":
		l.kind = commitLine
		l.entry = s.integer()
		s.literal(`,"outcome":"`)
		s.hex(l.outcome[:])
		s.literal(`"`)
	case "torn":
		l.kind = tornLine
		l.text = s.quoted()
	}
	s.literal(`,"prev":"`)
	s.hex(l.prev[:])
	s.literal(`"`)
	checked := text[:len(text)-len(s.rest)]
	var sum [4]byte
	s.literal(`,"check":"`)
	s.hex(sum[:])
	s.literal(`"}`)
	switch {
	case s.err != nil:
		return l, s.err
	case len(s.rest) > 0:
		return l, errMore
	}
	if binary.BigEndian.Uint32(sum[:]) != crc32.Checksum(checked, castagnoli) {
		return l, errors.New("the checksum does not match, so the line was changed")
	}
	return l, nil
}

type scanner struct {
	rest []byte
	last []byte // result of quoted
	err  error
}

func (s *scanner) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

func (s *scanner) literal(want string) {
	switch {
	case s.err != nil:
	case bytes.HasPrefix(s.rest, []byte(want)):
		s.rest = s.rest[len(want):]
	case len(s.rest) < len(want) && want[:len(s.rest)] == string(s.rest):
		s.fail(errShort)
	default:
		s.fail(fmt.Errorf("expected %s, found %.20q", want, s.rest))
	}
}

func (s *scanner) key(names ...string) string {
	if s.err != nil {
		return ""
	}
	end := bytes.IndexByte(s.rest, ':')
	for _, name := range names {
		want := name + `"`
		switch {
		case end >= 0 && string(s.rest[:end]) == want:
			s.rest = s.rest[end+1:]
			return name
		case end < 0 && len(s.rest) <= len(want) && want[:len(s.rest)] == string(s.rest):
			s.fail(errShort)
			return ""
		}
	}
	s.fail(fmt.Errorf("the line has an unknown kind: %.20q", s.rest))
	return ""
}

func (s *scanner) integer() int64 {
	if s.err != nil {
		return 0
	}
	n, i := int64(0), 0
	for ; i < len(s.rest) && '0' <= s.rest[i] && s.rest[i] <= '9'; i++ {
		if i > 0 && s.rest[0] == '0' || n > (math.MaxInt64-9)/10 {
			s.fail(errors.New("a whole number is out of range or has leading zeros"))
			return 0
		}
		n = 10*n + int64(s.rest[i]-'0')
	}
	switch {
	case i == len(s.rest):
		s.fail(errShort)
		return 0
	case i == 0:
		s.fail(fmt.Errorf("expected a whole number, found %.20q", s.rest))
		return 0
	}
	s.rest = s.rest[i:]
	return n
}

func (s *scanner) number() float64 {
	if s.err != nil {
		return 0
	}
	end := bytes.IndexByte(s.rest, ',')
	if end < 0 {
		if end = len(s.rest); end < 32 {
			s.fail(errShort)
			return 0
		}
	}
	text := s.rest[:end]
	x, err := strconv.ParseFloat(string(text), 64)
	var buf [32]byte
	if err != nil || !(x >= 0) || math.IsInf(x, 1) || !bytes.Equal(strconv.AppendFloat(buf[:0], x, 'g', -1, 64), text) {
		s.fail(fmt.Errorf("expected a number, found %.30q", text))
		return 0
	}
	s.rest = s.rest[end:]
	return x
}

func (s *scanner) method() accountant.Method {
	const name = `,"accountant":`
	if s.err != nil || !bytes.HasPrefix(s.rest, []byte(name[:3])) {
		return ""
	}
	s.literal(name)
	quoted := s.quoted()
	if s.err != nil {
		return ""
	}
	m, err := accountant.ParseMethod(string(quoted[1 : len(quoted)-1]))
	if err != nil {
		s.fail(err)
	}
	return m
}

func (s *scanner) hex(dst []byte) {
	if s.err != nil {
		return
	}
	n := hex.EncodedLen(len(dst))
	src := s.rest[:min(n, len(s.rest))]
	for _, c := range src {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			s.fail(fmt.Errorf("expected %d hexadecimal digits, found %.20q", n, src))
			return
		}
	}
	if len(src) < n {
		s.fail(errShort)
		return
	}
	_, _ = hex.Decode(dst, src) // all digits were checked
	s.rest = s.rest[n:]
}

func (s *scanner) quoted() []byte { return s.extent('"') }

func (s *scanner) extent(open byte) []byte {
	if s.err != nil {
		return nil
	}
	if len(s.rest) > 0 && s.rest[0] != open {
		s.fail(fmt.Errorf("expected %q, found %.20q", open, s.rest))
		return nil
	}
	depth, inside := 0, false
	for i := 0; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case inside && c == '\\':
			i++
			continue
		case c == '"':
			inside = !inside
		case inside:
		case c == '{':
			depth++
		case c == '}':
			depth--
		}
		if depth == 0 && !inside {
			s.last, s.rest = s.rest[:i+1], s.rest[i+1:]
			return s.last
		}
	}
	s.fail(errShort)
	return nil
}

func (s *scanner) reservation(l *line) {
	l.kind = reserveLine
	l.entry = s.integer()
	s.literal(`,"event":`)
	l.text = s.extent('{')
	s.literal(`,"epsilon":`)
	l.epsilon = s.number()
}
