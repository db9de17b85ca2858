package dataset

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/parquet"
)

// ReadTable reads a table from a file: CSV, plain or compressed by gzip or Zstandard, or Parquet. A wrong
// file is an [*fault.Error].
//
// CSV is read by RFC 4180. Spaces around cells are trimmed; an empty cell, "?", "NA" and "NaN" are missing
// values, allowed everywhere but in the columns of label and unit. The label column must have none missing
// unless opt.Rule.Other defines the treatment of such rows. Time and memory are linear in the size of the
// file, which unpacks to at most 1 GiB and, beyond 64 MiB, to at most 256 times the compressed size. A cell
// takes 16 bytes and its text, a row another 144. A table that would take more than 1 GiB is refused before
// it does; reading takes up to about twice that, however small the compressed file is. Splitting copies the
// table once more. Repeated cell text is stored once.
//
// Parquet is read like CSV of the same table, with the same options; options about the text of a CSV file
// have no effect. Package internal/parquet converts the cells: a table that pandas writes in both formats has
// the same columns, labels and named units. Only whole numbers in a column of floats differ, 3 in place of
// 3.0, and with them the names of units derived from content. So if one private row lacks an integer and
// pandas therefore writes the column as floats, no other row is renamed. Row groups, compression and encoding
// have no effect, and metadata of the file is not read. A column of an unsupported type, such as timestamps,
// is an error unless it is dropped; values in a dropped column do not distinguish rows. Memory is bounded as
// for CSV, and pages take at most another 512 MiB.
func ReadTable(path string, opt CSVOptions) (*Table, error) {
	return withFile(path, func(f *os.File) (*Table, error) {
		head := make([]byte, len(parquet.Magic))
		if _, err := f.ReadAt(head, 0); err == nil && string(head) == parquet.Magic {
			return readParquet(f, path, opt)
		}
		return readCSV(f, path, opt)
	})
}

func openParquet(f *os.File, path string) (*parquet.File, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, failed(path, "cannot be read", err)
	}
	return parquet.Open(f, info.Size(), path)
}

func readParquet(f *os.File, path string, opt CSVOptions) (*Table, error) {
	file, err := openParquet(f, path)
	if err != nil {
		return nil, err
	}
	columns := file.Columns()
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = strings.TrimSpace(c.Name)
	}
	nameColumns(names)
	if len(opt.Names) > 0 {
		if len(opt.Names) != len(names) {
			return nil, wrong(path, fmt.Sprintf("has %d columns, %d column names are given", len(names), len(opt.Names)), "", "")
		}
		names = slices.Clone(opt.Names)
	}
	b, err := newTableBuilder(path, opt, names)
	if err != nil {
		return nil, err
	}
	var read []int // columns to read; the others are dropped or not needed, and may have unsupported types
	for i, c := range columns {
		feature := slices.Contains(b.features, i) && (opt.needed == nil || slices.Contains(opt.needed, names[i]))
		if c.Refused == "" || i == b.label || i == b.unit || feature {
			read = append(read, i)
		}
	}
	rows, err := file.Rows(read)
	var refused *fault.Error
	if errors.As(err, &refused) {
		refused.Fix += "; or drop the column with --drop"
	}
	if err != nil {
		return nil, err
	}
	next := row{cells: make([]string, len(names))}
	return b.table(func() (row, error) {
		cells, err := rows.Next()
		if err != nil {
			return row{}, err
		}
		next.line++
		for i, at := range read {
			next.cells[at] = strings.TrimSpace(cells[i])
		}
		return next, nil
	})
}
