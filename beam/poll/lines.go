package poll

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/pate-go/pate/teachers/votes"
)

type Form string

const (
	// CSV lines have the form query,teacher,vote. Header lines with these three words are ignored.
	CSV Form = "csv"
	// JSONLines lines are objects such as {"query": 0, "teacher": 0, "vote": 0}.
	JSONLines Form = "jsonl"
)

// Lines describes lines of text with one vote each. Queries and teachers are integers from 0. A vote is the
// index of a class, or a class name if ClassNames is set. An empty vote is an abstention. Without ClassNames,
// -1 is also an abstention.
type Lines struct {
	Form       Form
	FirstClass int      // index of the first class: 1 if votes count classes from 1
	ClassNames []string // in the order of the classes
}

// Votes parses a collection of lines and returns a collection of [Vote]. The pipeline fails at a line that is
// not a vote. Votes for unknown classes remain, because [CheckVotes] reports them.
func (l Lines) Votes(s beam.Scope, lines beam.PCollection) beam.PCollection {
	if l.Form != CSV && l.Form != JSONLines {
		panic(fmt.Errorf("poll: lines in the form %q, want %q or %q", l.Form, CSV, JSONLines))
	}
	if l.ClassNames != nil {
		if err := votes.CheckClassNames(l.ClassNames); err != nil {
			panic(err)
		}
	}
	return beam.ParDo(s.Scope("Votes"), &lineFn{Lines: l}, lines)
}

const header = "query,teacher,vote"

type lineFn struct {
	Lines Lines

	classes map[string]int32
}

func (f *lineFn) Setup() {
	f.classes = make(map[string]int32, len(f.Lines.ClassNames))
	for i, name := range f.Lines.ClassNames {
		f.classes[name] = int32(i)
	}
}

func (f *lineFn) ProcessElement(line string, emit func(Vote)) error {
	line = strings.TrimSuffix(line, "\r")
	if line == "" || f.Lines.Form == CSV && line == header {
		return nil
	}
	v, err := f.parse(line)
	if err != nil {
		return err
	}
	emit(v)
	return nil
}

// parse returns errors without any text of the line.
func (f *lineFn) parse(line string) (v Vote, err error) {
	var query, teacher, vote string
	if f.Lines.Form == CSV {
		var more bool
		if query, line, more = strings.Cut(line, ","); more {
			teacher, vote, more = strings.Cut(line, ",")
		}
		if !more {
			return v, errors.New("poll: a line is not " + header)
		}
		if len(vote) > 1 && vote[0] == '"' && vote[len(vote)-1] == '"' { // class names contain no quotes
			vote = vote[1 : len(vote)-1]
		}
	} else if query, teacher, vote, err = object(line); err != nil {
		return v, err
	}
	q, errQuery := strconv.ParseInt(query, 10, 64)
	t, errTeacher := strconv.ParseInt(teacher, 10, 32)
	if errQuery != nil || errTeacher != nil {
		return v, errors.New("poll: the query or the teacher of a line is no whole number")
	}
	v = Vote{Query: q, Teacher: int32(t)}
	if vote == "" {
		v.Class = votes.Abstention
		return v, nil
	}
	if f.Lines.ClassNames != nil {
		class, known := f.classes[vote]
		if !known {
			class = votes.MaxClasses // the checks find and count this class
		}
		v.Class = class
		return v, nil
	}
	n, err := strconv.ParseInt(vote, 10, 32)
	switch {
	case err != nil:
		return v, errors.New("poll: the vote of a line is no whole number")
	case n == votes.Abstention:
		v.Class = votes.Abstention
	case n < int64(f.Lines.FirstClass):
		v.Class = votes.MaxClasses
	default:
		v.Class = int32(n - int64(f.Lines.FirstClass))
	}
	return v, nil
}

// absent is the vote of a line that has none. A null vote is an abstention.
type absent struct{}

func object(line string) (query, teacher, vote string, err error) {
	var o struct {
		Query   json.Number `json:"query"`
		Teacher json.Number `json:"teacher"`
		Vote    any         `json:"vote"`
	}
	o.Vote = absent{}
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&o); err != nil || d.More() {
		return "", "", "", errors.New(`poll: a line is no object {"query": ..., "teacher": ..., "vote": ...}`)
	}
	switch v := o.Vote.(type) {
	case json.Number:
		vote = v.String()
	case string:
		vote = v
	case nil:
	case absent:
		return "", "", "", errors.New("poll: a line has no vote; an abstention is null")
	default:
		return "", "", "", errors.New("poll: the vote of a line is neither a number nor a name")
	}
	return o.Query.String(), o.Teacher.String(), vote, nil
}
