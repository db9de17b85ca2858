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

// ReadTable reads a table from a CSV or Parquet file, from a file of JSON lines (.jsonl), or from a folder of
// texts. For an invalid file, the error is a [*fault.Error].
//
// CSV is read by RFC 4180, plain or compressed by gzip or Zstandard. Spaces around cells are removed. A
// missing value is an empty cell, "?" or "NA", or, in upper or lower case, "nan", "n/a" or "null". A missing
// unit is an error. A missing label is also an error, unless opt.Rule.Other is set. Time and memory are
// linear in the size of the file. An unpacked file above 1 GiB is refused. An unpacked file above 64 MiB is
// also refused if it exceeds 256 times the compressed size. In memory, a row takes 144 bytes, and a cell
// takes 16 bytes and its text. A table above 1 GiB of memory is refused. Reading takes about twice the memory
// of the table. Splitting copies the table.
//
// A Parquet file is read like a CSV file of the same table, with the cells that package internal/parquet
// returns. The options Header, Expect and Comma have no effect. In a column of floats, the number 3 becomes
// the text 3, not 3.0. The reason is that pandas stores integers as floats if one value is missing. With the
// text 3.0, this missing value would change all other cells of the column. But a CSV file may contain 3.0. So
// if the unit of a row is a hash of its cells, CSV and Parquet may give different units. Row groups,
// compression and encoding have no effect, and metadata is not read. A column of an unsupported type, such as
// timestamps, is an error unless it is dropped. Memory has the same limits as for CSV, plus 512 MiB for
// pages.
//
// JSON lines have an object on each line, and all objects have the same keys. The keys are the columns,
// sorted by name. Cells and memory are as for CSV. A folder of texts has one file of at most 1 MiB for each
// text. The folder is read as a table with the columns label and text. The label is the name of the file's
// folder.
func ReadTable(path string, opt CSVOptions) (*Table, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return readTextFolder(path, opt)
	}
	return withFile(path, func(f *os.File) (*Table, error) {
		head := make([]byte, len(parquet.Magic))
		if _, err := f.ReadAt(head, 0); err == nil && string(head) == parquet.Magic {
			return readParquet(f, path, opt)
		}
		if strings.HasSuffix(plainName(path), ".jsonl") {
			return readJSONLines(f, path, opt)
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
	var read []int // columns to read; all other columns are not needed and may have unsupported types
	for i, c := range columns {
		feature := slices.Contains(b.features, i) && (opt.needed == nil || slices.Contains(opt.needed, names[i]))
		if c.Refused == "" || i == b.label || i == b.unit || i == b.silo || feature {
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
