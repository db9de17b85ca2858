package votes

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/parquet"
)

// table is a file of columns with names and types.
type table struct {
	in    *input
	names []string
	truth []bool // is a column of truth values
	rows  func(columns []int) (next func() ([]string, error), err error)
}

func openParquet(r io.ReaderAt, in *input) (*table, error) {
	file, err := parquet.Open(r, in.size, in.name)
	if err != nil {
		return nil, err
	}
	t := &table{in: in}
	for _, c := range file.Columns() {
		t.names, t.truth = append(t.names, c.Name), append(t.truth, c.Truth())
	}
	t.rows = func(columns []int) (func() ([]string, error), error) {
		rows, err := file.Rows(columns)
		if err != nil {
			return nil, err
		}
		return rows.Next, nil
	}
	return t, nil
}

// writeTable writes a table as CSV. What its reader cannot cope with is an error, too.
func writeTable(w *bufio.Writer, r io.ReaderAt, in *input, opt Options) (err error) {
	defer func() {
		if recover() != nil { // what it was may quote the file
			err = &fault.Error{File: in.name, What: "is damaged in a way that its reader (Parquet) does not know", Fix: "write the file again"}
		}
	}()
	t, err := openParquet(r, in)
	if err != nil {
		return err
	}
	return t.write(w, opt)
}

// write writes a table as the CSV that is read in its place, under a header.
func (t *table) write(w *bufio.Writer, opt Options) error {
	in := t.in
	if isLong(t.names) {
		return longTable(in, fmt.Sprintf("pd.read_parquet(%q)", in.name), fmt.Sprintf("to_parquet(%q, index=False)", beside(in.name, ".parquet")))
	}
	var read []int
	for i, name := range t.names {
		if !strings.HasPrefix(name, "__index_level_") { // pandas' row numbers
			read = append(read, i)
		}
	}
	if len(read) == 0 {
		return &fault.Error{File: in.name, What: "has no columns of votes", Fix: "check that the right file is given"}
	}
	if opt.Probabilities && !opt.Transpose {
		names := make([]string, len(read))
		for i, k := range read {
			names[i] = t.names[k]
		}
		if err := opt.checkOrder(in, names); err != nil {
			return err
		}
	}
	next, err := t.rows(read)
	if err != nil {
		return err
	}
	for i := range read {
		fmt.Fprintf(w, "%sv%d", comma(i), i) // a bufio.Writer keeps its first error
	}
	words := slices.Contains(opt.ClassNames, "True")
	for {
		cells, err := next()
		if errors.Is(err, io.EOF) {
			return w.WriteByte('\n')
		}
		if err != nil {
			return err
		}
		for i, cell := range cells {
			switch {
			case t.truth[read[i]] && !words:
				cell = strings.NewReplacer("True", "1", "False", "0").Replace(cell)
			case strings.ContainsAny(cell, ",;\t\"\r\n"):
				cell = "\ufffd" // no name of a class, nor a vote
			}
			sep := comma(i)
			if i == 0 {
				sep = "\n"
			}
			if _, err := w.WriteString(sep + cell); err != nil {
				return err
			}
		}
	}
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// isLong reports whether columns are named as those of a table of single votes.
func isLong(names []string) bool {
	seen := map[string]bool{}
	for _, name := range names {
		seen[strings.ToLower(name)] = true
	}
	return len(names) <= 4 && (seen["teacher"] || seen["model"]) && (seen["vote"] || seen["label"])
}

// longTable refuses a table with a row for each vote, and says how to read and write it.
func longTable(in *input, read, write string) error {
	return &fault.Error{File: in.name, What: "has a row for each vote, of a query and a teacher", Why: "each row is a query, each column a teacher: a teacher then votes once",
		Fix: inPython(read+`.pivot(index="query", columns="teacher", values="vote").`+write) + ", with the names of its columns; or count the votes where they lie, pate votes sql"}
}
