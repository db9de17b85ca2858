package silos

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/pate-go/pate/teachers/votes"
)

// Terms are the public values on which all silos must agree.
type Terms struct {
	Unit      string   `json:"unit"`
	Pool      string   `json:"pool"`     // SHA-256 of the encoded public rows
	Features  string   `json:"features"` // SHA-256 of columns, categories and scales, which follow from public rows
	Classes   []string `json:"classes"`
	Votes     int      `json:"votes"` // of each unit, at different questions
	Questions int      `json:"questions"`
	Drawn     bool     `json:"drawn,omitempty"` // the public rows are drawn from declared ranges
	Rows      string   `json:"rows"`            // SHA-256 of the numbers of the public rows that are questions
}

// Head is the first line of a file of counts, in JSON.
type Head struct {
	Schema  string `json:"schema"`
	Private bool   `json:"private"`
	Silo    string `json:"silo,omitempty"`
	Size    int    `json:"size,omitempty"` // declared approximate number of units; 0 if not declared
	Terms
}

// Counts are the votes of one silo, without noise. They are private.
type Counts struct {
	Head
	Asked []int   // numbers of the public rows that are questions
	Cells []int64 // number of votes for every class of every question
}

const (
	schemaName = "pate.silo/1"
	maxHead    = 1 << 22 // bytes of the first line
	maxCells   = 1 << 26 // counts of one file
	maxVotes   = 1 << 53 // sum of all counts
)

// Write writes the head and a line "row,count,..." for each question.
func (c *Counts) Write(w io.Writer) error {
	head, err := json.Marshal(c.Head)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	line := append(head, '\n')
	for q, row := range c.Asked {
		if _, err := out.Write(line); err != nil {
			return err
		}
		line = strconv.AppendInt(line[:0], int64(row), 10)
		for _, v := range c.Cells[q*len(c.Classes) : (q+1)*len(c.Classes)] {
			line = strconv.AppendInt(append(line, ','), v, 10)
		}
		line = append(line, '\n')
	}
	if _, err := out.Write(line); err != nil {
		return err
	}
	return out.Flush()
}

// Read reads a file of counts in the exact format of Write. Read returns an error if units with Terms.Votes
// votes each cannot give these counts. The memory of Read grows only as lines are read, up to a fixed limit.
func Read(r io.Reader) (*Counts, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	line, err := readLine(in, maxHead)
	if err != nil {
		return nil, errors.New("has no line of JSON at its start")
	}
	c := &Counts{}
	if err := json.Unmarshal(line, &c.Head); err != nil {
		return nil, errors.New("has no line of JSON at its start")
	}
	if err := c.check(line); err != nil {
		return nil, err
	}
	for q := range c.Questions {
		if line, err = readLine(in, 21*(len(c.Classes)+1)); err == nil {
			err = c.line(line)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d is not a row and %d counts: %w", q+2, len(c.Classes), err)
		}
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("has more than the lines of %d questions", c.Questions)
	}
	return c, c.agree()
}

func readLine(in *bufio.Reader, most int) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > most {
			return nil, errors.New("the line is too long")
		}
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

func (h Head) check(line []byte) error {
	again, err := json.Marshal(h)
	switch {
	case h.Schema != schemaName || !h.Private:
		return fmt.Errorf("is not a file of counts: its schema is %.40q, not %q", h.Schema, schemaName)
	case err != nil || !bytes.Equal(again, line):
		return errors.New("has a first line that pate did not write")
	case votes.CheckClassNames(h.Classes) != nil:
		return votes.CheckClassNames(h.Classes)
	case h.Votes < 1 || h.Votes > h.Questions || h.Size < 0 || h.Unit == "":
		return fmt.Errorf("has %d votes at %d questions, of units %q", h.Votes, h.Questions, h.Unit)
	case h.Questions > maxCells/len(h.Classes):
		return fmt.Errorf("has %d questions of %d classes, which is too many", h.Questions, len(h.Classes))
	}
	return nil
}

func (c *Counts) line(line []byte) error {
	for i := 0; ; i++ {
		cell, rest, more := bytes.Cut(line, []byte(","))
		v, err := strconv.ParseInt(string(cell), 10, 64)
		switch {
		case err != nil || v < 0 || v > maxVotes || strconv.FormatInt(v, 10) != string(cell):
			return errors.New("a cell is not a number")
		case more != (i < len(c.Classes)):
			return errors.New("wrong number of cells")
		case i == 0:
			c.Asked = append(c.Asked, int(v))
		default:
			c.Cells = append(c.Cells, v)
		}
		if line = rest; !more {
			return nil
		}
	}
}

func (c *Counts) agree() error {
	sorted := slices.Sorted(slices.Values(c.Asked))
	if len(slices.Compact(sorted)) != c.Questions || hashOfRows(c.Asked) != c.Rows {
		return errors.New("has other questions than its first line")
	}
	total, most := int64(0), int64(0)
	for at := 0; at < len(c.Cells); at += len(c.Classes) {
		here := int64(0)
		for _, v := range c.Cells[at : at+len(c.Classes)] {
			if here += v; total+here > maxVotes {
				return errors.New("has too many votes")
			}
		}
		total, most = total+here, max(most, here)
	}
	if units := total / int64(c.Votes); total%int64(c.Votes) != 0 || most > units {
		return fmt.Errorf("has counts that are impossible if every %s has %d votes, each at a different question", c.Unit, c.Votes)
	}
	return nil
}

// units returns the number of units that voted, which is private.
func (c *Counts) units() (n int64) {
	for _, v := range c.Cells {
		n += v
	}
	return n / int64(c.Votes)
}

func hashOfRows(rows []int) string {
	h := sha256.New()
	for _, row := range rows {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(row)))
	}
	return hex.EncodeToString(h.Sum(nil))
}
