package votes

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/parquet"
	"github.com/pate-go/pate/internal/unpack"
)

const maxUnpacked = 4 << 30

type packing string

const (
	packedParquet packing = "Parquet"
	packedIndexed packing = "column 1"
)

func packingOf(head []byte) packing {
	if bytes.HasPrefix(head, []byte(parquet.Magic)) {
		return packedParquet
	}
	return packing(unpack.Format(head))
}

// store is a temporary file for all unpacked data, which only its owner can read.
type store struct {
	file *os.File // nil before the first byte
	size int64
	full int64 // largest size in bytes
}

var errFull = errors.New("full")

func (s *store) Write(p []byte) (int, error) {
	if s.file == nil {
		f, named, err := temporary()
		if err != nil {
			return 0, err
		}
		if s.file = f; named {
			runtime.AddCleanup(s, func(name string) { _ = os.Remove(name) }, f.Name())
		}
	}
	if int64(len(p)) > s.full-s.size {
		return 0, errFull
	}
	n, err := s.file.WriteAt(p, s.size)
	s.size += int64(n)
	return n, err
}

func unpackInputs(ctx context.Context, files []*input, perTeacher bool, opt Options) ([]*input, error) {
	var r reader
	defer r.close()
	into := &store{full: maxUnpacked}
	out := slices.Clone(files)
	for i, in := range out {
		for range 2 { // a table in gzip has two layers
			head, err := r.at(in, 0, len(parquet.Magic))
			if err != nil {
				return nil, err
			}
			how := packingOf(head)
			if how == "" || in.table() {
				break
			}
			if in, err = unpackInput(ctx, in, how, into, opt); err != nil {
				return nil, err
			}
		}
		var err error
		if opt.IndexColumn {
			in, err = withoutIndexColumn(ctx, in, into, opt)
		}
		if opt.Probabilities && err == nil {
			in, err = voteByShares(ctx, in, i, perTeacher, into, opt)
		}
		if err != nil {
			return nil, err
		}
		out[i] = in
	}
	return out, nil
}

func unpackInput(ctx context.Context, in *input, how packing, into *store, opt Options) (*input, error) {
	f, err := in.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	whole := io.NewSectionReader(f, 0, in.size)
	out, err := into.add(ctx, in, how, func(w *bufio.Writer) error {
		switch how {
		case packedParquet:
			return writeParquet(w, f, in, opt)
		case packedIndexed:
			return cutFirstColumn(w, bufio.NewReaderSize(whole, bufferBytes), in)
		}
		plain, err := unpack.Decoder(whole, string(how))
		if err == nil {
			_, err = io.Copy(w, plain)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out.packed = append(slices.Clone(in.packed), how)
	var r reader
	defer r.close()
	return out, r.recheck(in) // detects a change of the file since it was first opened
}

func (s *store) add(ctx context.Context, of *input, how packing, write func(w *bufio.Writer) error) (*input, error) {
	from, w := s.size, bufio.NewWriterSize(watched{ctx, s}, bufferBytes)
	err := write(w)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return nil, unpackError(ctx, of, how, s, err)
	}
	size := s.size - from
	return &input{name: of.name, size: size, open: func() (openInput, error) {
		return spooled{io.NewSectionReader(s.file, from, size)}, nil
	}}, nil
}

func unpackError(ctx context.Context, in *input, how packing, into *store, err error) error {
	var told *fault.Error
	switch {
	case errors.Is(err, errFull):
		return in.refuse(fmt.Sprintf("unpacks to more than %d GiB", into.full>>30),
			"the votes are unpacked into a temporary file", "save the votes as NPY, if possible as int8")
	case ctx.Err() != nil:
		return fmt.Errorf("votes: unpacking: %w", ctx.Err())
	case errors.As(err, &told):
		return told
	}
	return &fault.Error{File: in.name, What: fmt.Sprintf("cannot be unpacked (%s)", how),
		Fix: "write the file again; or set TMPDIR to a folder with more room", Err: err}
}

type watched struct {
	ctx context.Context
	w   io.Writer
}

func (w watched) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(p)
}

func withoutIndexColumn(ctx context.Context, in *input, into *store, opt Options) (*input, error) {
	var r reader
	isNPY, err := sniff(&r, in)
	r.close()
	if err != nil {
		return nil, err
	}
	if isNPY || in.table() {
		return nil, in.refuse("is not a CSV file, so it has no column of row names",
			"an index column is the first column that pandas writes in CSV files", "omit --index-column")
	}
	if opt.Transpose {
		return nil, errors.New("votes: an index column is for files of queries x teachers")
	}
	return unpackInput(ctx, in, packedIndexed, into, opt)
}

// cutFirstColumn keeps blank lines, so that line numbers do not change.
func cutFirstColumn(w *bufio.Writer, r *bufio.Reader, in *input) error {
	head, err := r.Peek(1 << 16)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if text := bytes.TrimPrefix(head, []byte(byteOrderMark)); len(text) < len(head) {
		_, _ = r.Discard(len(head) - len(text))
		head = text
	}
	sep := csvSeparator(head)
	for line := 1; ; line++ {
		cell, err := r.Peek(maxCSVCell + 1)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		end, closed := cellEnd(cell, 0, sep)
		switch {
		case end > maxCSVCell:
			return longCell(in)
		case closed && cell[end] == sep:
			end++
		case !isBlank(cell[:end]):
			return in.refuse(fmt.Sprintf("row %d has one cell", line), "with --index-column the first cell names the row, and votes must follow",
				"omit --index-column, or fix the row")
		case !closed:
			return nil
		}
		_, _ = r.Discard(end)
		if err := copyLine(w, r); err != nil {
			return err
		}
	}
}

func copyLine(w *bufio.Writer, r *bufio.Reader) error {
	for {
		part, err := r.ReadSlice('\n')
		if _, err := w.Write(part); err != nil {
			return err
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

func writeParquet(w *bufio.Writer, r io.ReaderAt, in *input, opt Options) (err error) {
	defer func() {
		if recover() != nil { // the panic value may quote the file, so it is dropped
			err = in.refuse("is a Parquet file with unknown damage", "", "write the file again")
		}
	}()
	file, err := parquet.Open(r, in.size, in.name)
	if err != nil {
		return err
	}
	var all, names []string
	var read []int
	var truth []bool // whether each column is boolean
	for i, c := range file.Columns() {
		all = append(all, c.Name)
		if !strings.HasPrefix(c.Name, "__index_level_") { // row numbers from pandas
			names, read, truth = append(names, c.Name), append(read, i), append(truth, c.Truth())
		}
	}
	if isLong(all) {
		return longTable(in, fmt.Sprintf("pd.read_parquet(%q)", in.name),
			fmt.Sprintf("to_parquet(%q, index=False)", beside(in.name, ".parquet")))
	}
	if len(read) == 0 {
		return in.refuse("has no columns of votes", "", "check that this is the right file")
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
				cells[i] = "\ufffd" // neither a class name nor a vote
			}
		}
	}
}

func isLong(names []string) bool {
	seen := map[string]bool{}
	for _, name := range names {
		seen[strings.ToLower(name)] = true
	}
	return len(names) <= 4 && (seen["teacher"] || seen["model"]) && (seen["vote"] || seen["label"])
}

func longTable(in *input, read, write string) error {
	return in.refuse("has a row for each vote instead of a row for each query",
		"each row must be a query and each column must be a teacher, so that a teacher votes once",
		inPython(read+`.pivot(index="query", columns="teacher", values="vote").`+write)+
			", with the names of its columns; or count the votes in the database, by pate votes sql")
}
