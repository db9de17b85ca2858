package site

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/learn/page"
	"github.com/pate-go/pate/internal/template"
)

// File returns the course as one HTML file that contains everything.
func File(p Program) ([]byte, error) { return single(document{}, p.script()) }

// Served returns the page for a server that answers requests at the path /call.
func Served() ([]byte, error) { return single(document{Served: true}, []byte(appJS)) }

func single(d document, script []byte) ([]byte, error) {
	d.Title, d.First = "Private answers: a course", true
	for i, c := range page.Chapters() {
		s, err := show(i+1, c, false)
		if err != nil {
			return nil, err
		}
		d.Chapters = append(d.Chapters, s)
	}
	out, err := d.write(page.Chapters())
	out = append(append(out, "<script>"...), script...)
	return append(out, "</script>\n"...), err
}

// WriteFolder writes an index, a page for each chapter, and course.js to dir.
func WriteFolder(dir string, p Program) error {
	if err := durable.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	chapters := page.Chapters()
	for i, c := range chapters {
		s, err := show(i+1, c, true)
		if err != nil {
			return err
		}
		if i > 0 {
			s.Previous = chapters[i-1].Name
		}
		if i+1 < len(chapters) {
			s.Next = chapters[i+1].Name
		}
		if err := writePage(dir, c.Name, document{Title: s.Text["Title"], Folder: true, Chapters: []shown{s}}); err != nil {
			return err
		}
	}
	if err := writePage(dir, "index", document{Title: "Private answers: a course", Folder: true, First: true}); err != nil {
		return err
	}
	return durable.WriteBytes(filepath.Join(dir, "course.js"), 0o644, p.script())
}

func writePage(dir, name string, d document) error {
	out, err := d.write(page.Chapters())
	if err != nil {
		return err
	}
	if len(d.Chapters) > 0 {
		out = append(out, "<script src=\"course.js\"></script>\n"...)
	}
	return durable.WriteBytes(filepath.Join(dir, name+".html"), 0o644, out)
}

const maxRequest = 1 << 16

// Handler serves the course at "/" and answers requests of the page at "/call". It refuses requests with a
// Host header other than host, to prevent DNS rebinding.
func Handler(host string) (http.Handler, error) {
	course, err := Served()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(course) // an error means that the browser closed the connection
	})
	mux.HandleFunc("POST /call", func(w http.ResponseWriter, r *http.Request) {
		request, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err != nil {
			http.Error(w, "too long", http.StatusRequestEntityTooLarge)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(page.Call(request))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != host {
			http.Error(w, "this page is for "+host, http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Security-Policy",
			"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		mux.ServeHTTP(w, r)
	}), nil
}

var (
	//go:embed course.html
	courseHTML string
	//go:embed style.css
	styleCSS string
	//go:embed app.js
	appJS string
)

type shown struct {
	page.Chapter
	Number         int
	View           page.View // view of the first scene
	Stills         []still   // views of all scenes, for readers without JavaScript
	Excerpts       []excerpt
	Previous, Next string
}

type still struct {
	Name string
	View page.View
}

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

type document struct {
	Title    string
	Style    template.Markup
	Chapters []shown
	All      []page.Chapter // for the list of chapters
	First    bool           // begins with the page of words
	Folder   bool           // each chapter has its own page
	Served   bool           // the server answers, instead of a program in the page
}

func (d document) write(chapters []page.Chapter) ([]byte, error) {
	funcs := template.Funcs{
		"svg":  func(s string) template.Markup { return template.Markup(s) }, // #nosec: package page escapes
		"plus": func(i, j int) int { return i + j },
		"json": func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
		"link": func(name string) string {
			switch {
			case d.Folder && name == "words":
				return "index.html"
			case d.Folder:
				return name + ".html"
			}
			return "#" + name
		},
	}
	t, err := template.HTML("course", courseHTML, funcs)
	if err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	d.All, d.Style = chapters, template.Markup(styleCSS)
	text, err := t.Fill("course", d)
	if err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	return []byte(text), nil
}

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
