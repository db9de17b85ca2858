package site

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"

	"github.com/pate-go/pate/internal/learn/page"
)

var (
	//go:embed course.html
	courseHTML string
	//go:embed style.css
	styleCSS string
	//go:embed app.js
	appJS string
)

// shown is a chapter with everything that stands around its picture.
type shown struct {
	page.Chapter
	Number         int
	View           page.View // of the first scene
	Stills         []still   // of all scenes, for readers without JavaScript
	Excerpts       []excerpt
	Previous, Next string
}

type still struct {
	Name string
	View page.View
}

// show draws a chapter; stills only where they are wanted.
func show(number int, c page.Chapter, stills bool) (shown, error) {
	s := shown{Chapter: c, Number: number}
	for i, scene := range c.Scenes {
		if i > 0 && !stills {
			break
		}
		v, err := c.Draw(scene.Situation)
		if err != nil {
			return s, fmt.Errorf("site: %s, %s: %w", c.Name, scene.Name, err)
		}
		if i == 0 {
			s.View = v
		}
		if stills {
			s.Stills = append(s.Stills, still{scene.Name, v})
		}
	}
	var err error
	s.Excerpts, err = excerpts(c.Code)
	return s, err
}

// document is what the template shows.
type document struct {
	Title    string
	Style    template.CSS
	Chapters []shown
	All      []page.Chapter // for the list of chapters
	Folder   bool           // each chapter on a page of its own
	Served   bool           // the program behind the page answers, not one inside
}

func (d document) write(chapters []page.Chapter) ([]byte, error) {
	funcs := template.FuncMap{
		"svg":  func(s string) template.HTML { return template.HTML(s) }, // #nosec: package page escapes
		"plus": func(i, j int) int { return i + j },
		"json": func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
		"link": func(name string) string {
			if d.Folder {
				return name + ".html"
			}
			return "#" + name
		},
	}
	t, err := template.New("course").Funcs(funcs).Parse(courseHTML)
	if err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	d.All, d.Style = chapters, template.CSS(styleCSS)
	var b bytes.Buffer
	if err := t.Execute(&b, d); err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	return b.Bytes(), nil
}

// code.txt has the functions that chapters show, as they stand in the source: a line with "== " and the
// name, then the text. A test compares it with the source and writes it anew with UPDATE_GOLDEN=1.
//
//go:embed code.txt
var code string

type excerpt struct{ Name, Text string }

func excerpts(names []string) ([]excerpt, error) {
	var out []excerpt
	for _, name := range names {
		_, rest, found := strings.Cut("\n"+code, "\n== "+name+"\n")
		if !found {
			return nil, fmt.Errorf("site: code.txt has no %s", name)
		}
		text, _, _ := strings.Cut(rest, "\n== ")
		out = append(out, excerpt{name, strings.TrimSpace(text)})
	}
	return out, nil
}
