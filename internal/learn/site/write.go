package site

import (
	"io"
	"net/http"
	"path/filepath"

	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/learn/page"
)

// File returns the course as one HTML file that needs nothing else.
func File(p Program) ([]byte, error) { return single(document{}, p.script()) }

// Served returns the page of a server that answers requests at call.
func Served() ([]byte, error) { return single(document{Served: true}, []byte(appJS)) }

// single returns a page with all chapters, and a script at its end.
func single(d document, script []byte) ([]byte, error) {
	d.Title = "Private answers: a course"
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

// WriteFolder writes a static site: an index and a page for each chapter, with pictures that
// are there without JavaScript, and course.js, which makes them move.
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
	if err := writePage(dir, "index", document{Title: "Private answers: a course", Folder: true}); err != nil {
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

// maxRequest bounds a request in bytes.
const maxRequest = 1 << 16

// Handler serves the course at "/" and answers its questions at "/call". Only requests for
// that host are answered: a name of the web that points to this machine gets nothing.
func Handler(host string) (http.Handler, error) {
	course, err := Served()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(course) // a browser that went away
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
