package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pate-go/pate/internal/table"
)

// Request is what the page asks of the program behind it, in a browser or on this machine.
type Request struct {
	Ask       string    `json:"ask"` // draw, trace or check
	Chapter   string    `json:"chapter"`
	Situation Situation `json:"situation"`
	Exercise  string    `json:"exercise"`
	Given     float64   `json:"given"`
}

// Reply is the answer. An error is for the reader, in Error; the rest is then empty.
type Reply struct {
	Error string `json:"error,omitempty"`
	View  *View  `json:"view,omitempty"`
	Trace string `json:"trace,omitempty"` // Markdown
	Right bool   `json:"right,omitempty"`
	Words string `json:"words,omitempty"`
}

// Call answers a request in JSON.
func Call(request []byte) []byte {
	var q Request
	reply, err := Reply{}, json.Unmarshal(request, &q)
	if err == nil {
		reply, err = q.answer()
	}
	if err != nil {
		reply = Reply{Error: err.Error()}
		if errors.Is(err, ErrSituation) {
			reply.Error = err.Error()[len(ErrSituation.Error())+2:]
		}
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(reply); err != nil {
		return []byte(`{"error":"the answer has a number that is not finite"}`)
	}
	return out.Bytes()
}

func (q Request) answer() (Reply, error) {
	c, err := Find(q.Chapter)
	if err != nil {
		return Reply{}, err
	}
	switch q.Ask {
	case "draw":
		v, err := c.Draw(q.Situation)
		return Reply{View: &v}, err
	case "trace":
		t, err := c.Trace(q.Situation)
		if err != nil {
			return Reply{}, err
		}
		var b bytes.Buffer
		err = t.Write(&b, table.Markdown)
		return Reply{Trace: b.String()}, err
	case "check":
		right, words, err := c.Check(q.Exercise, q.Given)
		return Reply{Right: right, Words: words}, err
	}
	return Reply{}, fmt.Errorf("page: cannot %q", q.Ask)
}
