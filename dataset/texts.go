package dataset

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/unpack"
)

const (
	folderText  = "text"
	folderLabel = "label"
)

func plainName(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")
}

func readJSONLines(r io.Reader, path string, opt CSVOptions) (*Table, error) {
	plain, err := unpack.Reader(r)
	if err != nil {
		return nil, failed(path, "cannot be unpacked", err)
	}
	lines := bufio.NewScanner(plain)
	lines.Buffer(nil, maxRecord)
	line := 0
	var b *tableBuilder
	next := func() (row, error) {
		for lines.Scan() {
			line++
			text := bytes.TrimSpace(bytes.TrimPrefix(lines.Bytes(), []byte("\xef\xbb\xbf")))
			if len(text) == 0 {
				continue
			}
			found, err := jsonCells(text)
			if err == nil && b == nil {
				b, err = newTableBuilder(path, opt, slices.Sorted(maps.Keys(found)))
				if err != nil {
					return row{}, err
				}
			}
			if err != nil {
				return row{}, &fault.Error{File: path, Row: line, What: "is not a JSON object of texts and numbers", Why: err.Error(),
					Fix: `write an object such as {"text": "...", "label": "..."} on each line`}
			}
			cells := make([]string, len(b.names))
			for i, name := range b.names {
				cell, has := found[name]
				if !has || len(found) != len(b.names) {
					return row{}, &fault.Error{File: path, Row: line, What: "has other keys than the first row",
						Why: "each row is an example, and each key is a column",
						Fix: "give all rows the same keys, with null for a missing value"}
				}
				cells[i] = cell
			}
			return row{line: line, cells: cells}, nil
		}
		if err := lines.Err(); err != nil {
			return row{}, &fault.Error{File: path, Row: line + 1, Err: err,
				What: fmt.Sprintf("is longer than %d bytes, or cannot be read", maxRecord)}
		}
		return row{}, io.EOF
	}
	first, err := next()
	if errors.Is(err, io.EOF) {
		return nil, wrong(path, "is empty", "a table has a row for each example", "check that the right file is given")
	}
	if err == nil {
		err = b.add(first)
	}
	if err != nil {
		return nil, err
	}
	return b.table(next)
}

func jsonCells(text []byte) (map[string]string, error) {
	var object map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		return nil, err
	}
	if d.InputOffset() != int64(len(text)) {
		return nil, errors.New("more follows the object")
	}
	if len(object) == 0 {
		return nil, errors.New("it has no keys")
	}
	cells := make(map[string]string, len(object))
	for key, value := range object {
		switch value.(type) {
		case nil:
			cells[key] = ""
		case string, json.Number, bool:
			cells[key] = strings.TrimSpace(fmt.Sprint(value))
		default:
			return nil, fmt.Errorf("the value of key %q is a list or an object", key)
		}
	}
	return cells, nil
}

func readTextFolder(dir string, opt CSVOptions) (*Table, error) {
	if !opt.Unlabelled && opt.Label == "" {
		opt.Label = folderLabel
	}
	files, err := listFiles(dir, "texts", func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	b, err := newTableBuilder(dir, opt, []string{folderLabel, folderText})
	if err != nil {
		return nil, err
	}
	return b.table(func() (row, error) {
		if len(files) == 0 {
			return row{}, io.EOF
		}
		f := files[0]
		files, b.path = files[1:], filepath.Join(dir, filepath.FromSlash(f.name)) // errors name the file
		text, err := withFile(b.path, func(file *os.File) ([]byte, error) {
			return io.ReadAll(io.LimitReader(file, maxRecord+1))
		})
		if err == nil && len(text) > maxRecord {
			err = wrong(b.path, fmt.Sprintf("is longer than %d bytes", maxRecord), "", "cut the text")
		}
		return row{cells: []string{f.class, strings.TrimSpace(string(text))}}, err
	})
}
