package publish

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/internal/table"
)

const schemaPublish = "pate.publish/1"

// report is what was published. All of it is public.
type report struct {
	Schema     string              `json:"schema"`
	Method     string              `json:"method"`
	Public     int                 `json:"public"`         // rows
	Pool       string              `json:"pool,omitempty"` // what they were drawn from: none or marginals
	Teachers   int                 `json:"teachers,omitempty"`
	Reason     string              `json:"teachers_reason,omitempty"`
	Learner    string              `json:"learner,omitempty"`
	Classes    []string            `json:"classes"`
	Unit       string              `json:"unit"`
	Mechanism  string              `json:"mechanism,omitempty"`
	Asked      int                 `json:"asked,omitempty"`
	Released   int                 `json:"labels"`
	Training   *training           `json:"training,omitempty"` // of one private model
	Student    string              `json:"kind,omitempty"`
	Held       *published.HeldBack `json:"held_back,omitempty"`
	Entry      int64               `json:"ledger_entry,omitempty"`
	Epsilon    float64             `json:"epsilon"`
	Delta      float64             `json:"delta"`
	Releasable bool                `json:"releasable"`
	Files      []releasedFile      `json:"files"`
}

// releasedFile is a file with its hash.
type releasedFile struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// names returns the names of the files, without the report's own.
func (r *report) names() []string {
	var names []string
	for _, f := range r.Files {
		names = append(names, f.Name)
	}
	return names
}

// held is how often the student predicted a label that was held back, in percent.
func (r *report) held() string {
	if r.Held == nil || r.Held.Labels == 0 {
		return ""
	}
	return strconv.FormatFloat(100*float64(r.Held.Right)/float64(r.Held.Labels), 'f', 1, 64)
}

// table returns the numbers of a run. On a terminal the student, which takes words, stands
// below: see student.
func (r *report) table(f table.Format) table.Table {
	if t := r.Training; t != nil {
		return table.Table{
			Header: []string{r.Unit + "s", "steps", "noise", "labels", "epsilon"},
			Rows:   [][]string{{strconv.Itoa(t.Records), strconv.Itoa(t.Steps), fmt.Sprintf("%.4g", t.Noise), strconv.Itoa(r.Released), shell.FormatUp(r.Epsilon, false)}},
		}
	}
	t := table.Table{
		Header: []string{"teachers", "asked", "labels", "predicts % of labels held back", "epsilon"},
		Rows:   [][]string{{strconv.Itoa(r.Teachers), strconv.Itoa(r.Asked), strconv.Itoa(r.Released), r.held(), shell.FormatUp(r.Epsilon, false)}},
	}
	if f != table.Text {
		t.Header, t.Rows[0] = append(t.Header, "student"), append(t.Rows[0], r.Student)
		t.Left = []bool{false, false, false, false, false, true}
	}
	return t
}

//go:embed report.html
var page string

// report hashes files and writes the page about them.
func (j *job) report(r *report, files ...string) error {
	for _, name := range files {
		f, err := os.Open(j.made(name))
		if os.IsNotExist(err) && name == studentFile { // every query was declined
			continue
		}
		if err != nil {
			return err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return err
		}
		r.Files = append(r.Files, releasedFile{name, hex.EncodeToString(h.Sum(nil))})
	}
	t, err := template.New("report").Parse(page)
	if err != nil {
		return err
	}
	return j.write(reportFile, func(w io.Writer) error {
		return t.Execute(w, map[string]any{"R": r, "Classes": strings.Join(r.Classes, ", "), "Epsilon": shell.FormatUp(r.Epsilon, false), "Held": r.held()})
	})
}
