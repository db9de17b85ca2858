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
// values, allowed everywhere but in the columns of label and unit. The column of labels has none missing
// unless opt.Rule.Other defines what becomes of such rows. Time and memory are linear in the size of the
// file, which is at most 1 GiB when it is unpacked, and 256 times the compressed one beyond 64 MiB. A cell
// takes 16 bytes and its text, a row another 144, and a table that would take more than 1 GiB is refused
// before it does: reading takes up to about twice that, however small the compressed file is. Splitting
// copies the table once more. Text of cells that repeat is kept once.
//
// Parquet is read as CSV of the same table, by the same options; those about the text of a CSV file change
// nothing. Cells are those of package internal/parquet: a table that pandas writes both ways has the same
// columns, labels and named units in both. Only whole numbers in a column of floats are written otherwise,
// 3 in place of 3.0, and with them the names of units that no column names: so a private row that makes
// pandas turn integers into floats, since it has none, renames no other row. How rows are grouped,
// compressed and encoded changes nothing, and data of the file beside its rows is not read. A column that
// is not read, such as one of timestamps, is an error unless it is dropped; a row then counts as equal to
// others whatever it has there. Memory is bounded as for CSV, and pages take another 512 MiB at most.
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
	var read []int // columns; the others are dropped or not asked for, and cannot be read
	for i, c := range columns {
		feature := slices.Contains(b.features, i) && (opt.needed == nil || slices.Contains(opt.needed, names[i]))
		if c.Refused == "" || i == b.label || i == b.unit || feature {
			read = append(read, i)
		}
	}
	rows, err := file.Rows(read)
	var refused *fault.Error
	if errors.As(err, &refused) {
		refused.Fix += "; or leave it out with --drop"
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
