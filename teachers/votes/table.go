package votes

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pate-go/pate/internal/parquet"
)

// writeParquet writes Parquet as the CSV that is read in its place, under a header. A panic of its reader
// is an error, too.
func writeParquet(w *bufio.Writer, r io.ReaderAt, in *input, opt Options) (err error) {
	defer func() {
		if recover() != nil { // the panic may quote the file
			err = in.refuse("is damaged in a way that its reader (Parquet) does not know", "", "write the file again")
		}
	}()
	file, err := parquet.Open(r, in.size, in.name)
	if err != nil {
		return err
	}
	var all, names []string
	var read []int
	var truth []bool // is the column one of truth values
	for i, c := range file.Columns() {
		all = append(all, c.Name)
		if !strings.HasPrefix(c.Name, "__index_level_") { // pandas' row numbers
			names, read, truth = append(names, c.Name), append(read, i), append(truth, c.Truth())
		}
	}
	if isLong(all) {
		return longTable(in, fmt.Sprintf("pd.read_parquet(%q)", in.name),
			fmt.Sprintf("to_parquet(%q, index=False)", beside(in.name, ".parquet")))
	}
	if len(read) == 0 {
		return in.refuse("has no columns of votes", "", "check that the right file is given")
	}
	if opt.Probabilities && !opt.Transpose {
		if err := opt.checkOrder(in, names); err != nil {
			return err
		}
	}
	rows, err := file.Rows(read)
	if err != nil {
		return err
	}
	for i := range read {
		names[i] = fmt.Sprintf("v%d", i)
	}
	words := slices.Contains(opt.ClassNames, "True")
	for cells := names; ; {
		if _, err := w.WriteString(strings.Join(cells, ",") + "\n"); err != nil {
			return err
		}
		if cells, err = rows.Next(); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		for i, cell := range cells {
			switch {
			case truth[i] && !words:
				cells[i] = strings.NewReplacer("True", "1", "False", "0").Replace(cell)
			case strings.ContainsAny(cell, ",;\t\"\r\n"):
				cells[i] = "\ufffd" // no name of a class, nor a vote
			}
		}
	}
}

// isLong reports whether the names of columns are the ones of a table of single votes.
func isLong(names []string) bool {
	seen := map[string]bool{}
	for _, name := range names {
		seen[strings.ToLower(name)] = true
	}
	return len(names) <= 4 && (seen["teacher"] || seen["model"]) && (seen["vote"] || seen["label"])
}

// longTable refuses a table with a row for each vote; read and write are how pandas handles it.
func longTable(in *input, read, write string) error {
	return in.refuse("has a row for each vote, of a query and a teacher",
		"each row is a query, each column a teacher: a teacher then votes once",
		inPython(read+`.pivot(index="query", columns="teacher", values="vote").`+write)+
			", with the names of its columns; or count the votes where they lie, pate votes sql")
}
