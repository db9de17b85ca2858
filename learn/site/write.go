package site

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/learn/page"
)

// binaryMark is where the packed program goes into the single file.
const binaryMark = "PACKED-PROGRAM"

// File returns the course as one HTML file that needs nothing else.
func File() ([]byte, error) {
	d := document{Title: "Private answers: a course", Single: true}
	var err error
	for i, c := range page.Chapters() {
		s, err := show(i+1, c, false)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			s.View = page.View{} // drawn when the program is there: the first picture comes sooner
		}
		d.Chapters = append(d.Chapters, s)
	}
	out, err := d.write(page.Chapters())
	if err != nil {
		return nil, err
	}
	before, after, found := bytes.Cut(out, []byte(binaryMark))
	if !found {
		return nil, fmt.Errorf("site: the template has no %s", binaryMark)
	}
	return bytes.Join([][]byte{before, binaryText(packed), after, []byte(scripts())}, nil), nil
}

// scripts are those at the end of the single file.
func scripts() string { return "<script>" + scriptText(lzmaJS+appJS) + "</script>\n" }

// Served returns the page of a server that answers requests at call.
func Served() ([]byte, error) {
	d := document{Title: "Private answers: a course", Served: true}
	for i, c := range page.Chapters() {
		s, err := show(i+1, c, false)
		if err != nil {
			return nil, err
		}
		d.Chapters = append(d.Chapters, s)
	}
	out, err := d.write(page.Chapters())
	return append(out, "<script>"+scriptText(appJS)+"</script>\n"...), err
}

// WriteFolder writes a static site: an index and a page for each chapter, with pictures that
// are there without JavaScript, and course.js, which makes them move.
func WriteFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("site: %w", err)
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
		if err := writePage(dir, c.Name, document{Title: s.Text.Title, Folder: true, Chapters: []shown{s}}); err != nil {
			return err
		}
	}
	if err := writePage(dir, "index", document{Title: "Private answers: a course", Folder: true}); err != nil {
		return err
	}
	js := lzmaJS + "const packed = \"" + base64.StdEncoding.EncodeToString(packed) + "\";\n" + appJS
	return write(filepath.Join(dir, "course.js"), []byte(scriptText(js)))
}

func writePage(dir, name string, d document) error {
	out, err := d.write(page.Chapters())
	if err != nil {
		return err
	}
	if len(d.Chapters) > 0 {
		out = append(out, "<script src=\"course.js\"></script>\n"...)
	}
	return write(filepath.Join(dir, name+".html"), out)
}

func write(path string, data []byte) error {
	if err := os.WriteFile(path, data, 0o666); err != nil {
		return fmt.Errorf("site: %w", err)
	}
	return nil
}

// WriteFile writes the course as one HTML file.
func WriteFile(w io.Writer) error {
	out, err := File()
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}
