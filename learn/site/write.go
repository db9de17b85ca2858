package site

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"fmt"
	"io"
	"path/filepath"

	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/learn/page"
)

// binaryMark is where the packed program goes into the single file.
const binaryMark = "PACKED-PROGRAM"

// File returns the course as one HTML file that needs nothing else. The first chapter with its
// picture is there at once; the other chapters and the scripts are packed, with boot.js to unpack
// them, and the program draws their pictures.
func File() ([]byte, error) {
	d := document{Title: "Private answers: a course", Single: true}
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
	const end = "</section>\n"
	first := bytes.Index(out, []byte("\n"+end[:len(end)-1])) // of the first chapter
	last := bytes.LastIndex(out, []byte(end))
	before, after, found := bytes.Cut(out[last:], []byte(binaryMark))
	if first < 0 || !found {
		return nil, fmt.Errorf("site: the template has no chapters or no %s", binaryMark)
	}
	first += 1 + len(end)
	rest, err := deflated(bytes.Join([][]byte{out[first : last+len(end)], []byte(scriptText(lzmaJS + appJS))}, []byte{0}))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Write(out[:first])
	b.Write(bytes.TrimPrefix(before, []byte(end)))
	b.Write(binaryText(packed))
	b.Write(after)
	b.WriteString("<script type=\"text/plain\" id=\"rest\">")
	b.Write(binaryText(rest))
	b.WriteString("</script>\n<script>" + scriptText(bootJS) + "</script>\n")
	return b.Bytes(), nil
}

func deflated(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	if _, err := w.Write(data); err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	return b.Bytes(), nil
}

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
		if err := writePage(dir, c.Name, document{Title: s.Text.Title, Folder: true, Chapters: []shown{s}}); err != nil {
			return err
		}
	}
	if err := writePage(dir, "index", document{Title: "Private answers: a course", Folder: true}); err != nil {
		return err
	}
	js := lzmaJS + "const packed = \"" + base64.StdEncoding.EncodeToString(packed) + "\";\n" + appJS
	return durable.WriteBytes(filepath.Join(dir, "course.js"), 0o644, []byte(scriptText(js)))
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

// WriteFile writes the course as one HTML file.
func WriteFile(w io.Writer) error {
	out, err := File()
	if err != nil {
		return err
	}
	_, err = w.Write(out)
	return err
}
