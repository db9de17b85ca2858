package online

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// scanner reads the JSON of one request. Invalid JSON (RFC 8259) and invalid UTF-8 are refused.
type scanner struct {
	text []byte
	at   int
}

func (s *scanner) blank() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) peek() byte {
	if s.blank(); s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// missing returns an error without the text's position, because positions depend on private numbers.
func missing(want string) error { return errors.New("there must be " + want) }

func (s *scanner) expect(c byte) error {
	if s.peek() != c {
		return missing("a character " + string(c))
	}
	s.at++
	return nil
}

func (s *scanner) more(first bool, end byte) (bool, error) {
	switch c := s.peek(); {
	case c == end:
		s.at++
		return false, nil
	case first:
		return true, nil
	case c == ',':
		s.at++
		return true, nil
	}
	return false, missing("a comma or " + string(end))
}

func (s *scanner) object(member func(key []byte) error) error {
	if err := s.expect('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		if more, err := s.more(first, '}'); !more {
			return err
		}
		key, err := s.quoted()
		if err == nil {
			err = s.expect(':')
		}
		if err == nil {
			err = member(key)
		}
		if err != nil {
			return err
		}
	}
}

func (s *scanner) array(element func() error) error {
	if err := s.expect('['); err != nil {
		return err
	}
	for first := true; ; first = false {
		if more, err := s.more(first, ']'); !more {
			return err
		}
		if err := element(); err != nil {
			return err
		}
	}
}

// quoted reads one string. The result may share the memory of s.text.
func (s *scanner) quoted() ([]byte, error) {
	if s.peek() != '"' {
		return nil, missing("a string")
	}
	start, escaped := s.at, false
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\':
			escaped = true
			s.at++
		case c < ' ':
			return nil, missing("an escape in place of a control character")
		case c == '"':
			s.at++
			if !escaped {
				return s.text[start+1 : s.at-1], nil
			}
			var plain string
			if json.Unmarshal(s.text[start:s.at], &plain) != nil {
				s.at = start
				return nil, missing("a string with valid escapes")
			}
			return []byte(plain), nil
		}
	}
	return nil, missing("the end of a string")
}

func (s *scanner) digits() int {
	start := s.at
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		s.at++
	}
	return s.at - start
}

func (s *scanner) whole(most int64) (int64, error) {
	s.blank()
	start := s.at
	n, err := int64(0), error(nil)
	if digits := s.digits(); digits == 0 || digits > 1 && s.text[start] == '0' {
		err = errors.New("no number")
	} else {
		n, err = strconv.ParseInt(string(s.text[start:s.at]), 10, 64)
	}
	if s.at < len(s.text) && (s.text[s.at] == '.' || s.text[s.at]|0x20 == 'e') || err != nil || n > most {
		s.at = start
		return 0, missing(fmt.Sprintf("a whole number from 0 to %d", most))
	}
	return n, nil
}

func (s *scanner) is(c byte) bool {
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) number() (float64, error) {
	s.blank()
	start := s.at
	s.is('-')
	zero := s.at < len(s.text) && s.text[s.at] == '0'
	digits := s.digits()
	ok := digits > 0 && !(zero && digits > 1)
	if ok && s.is('.') {
		ok = s.digits() > 0
	}
	if ok && (s.is('e') || s.is('E')) {
		if !s.is('+') {
			s.is('-')
		}
		ok = s.digits() > 0
	}
	x, err := strconv.ParseFloat(string(s.text[start:s.at]), 64)
	if !ok || err != nil || math.IsInf(x, 0) {
		s.at = start
		return 0, missing("a finite number")
	}
	return x, nil
}

func (s *scanner) end() error {
	if s.peek() != 0 || s.at < len(s.text) {
		return missing("nothing after the request")
	}
	return nil
}

func (s *scanner) check() error {
	if !utf8.Valid(s.text) {
		return errors.New("the request is not UTF-8")
	}
	return nil
}
