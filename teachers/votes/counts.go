package votes

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/npy"
)

const maxAdded = 64

// CountsFiles reads several files of counts as one sequence (see [OpenCounts]).
type CountsFiles struct {
	sources []*Source
	add     bool
}

// OpenCounts opens files of counts by path or pattern, sorted bytewise by name, and reads each file once. The
// options apply to each file, but opt.Teachers is for all files. If add is false, the files hold consecutive
// queries to the same teachers. If add is true, the files hold the same queries to different teachers, such
// as silos. Equal files are then refused, because one silo may have made both.
func OpenCounts(ctx context.Context, paths []string, opt Options, add bool) (*CountsFiles, error) {
	if !opt.Counts || opt.Teachers == 0 || opt.From != 0 || opt.To != 0 {
		return nil, errors.New("votes: several files of counts need Counts, Teachers and all queries")
	}
	files, _, err := findInputs(paths, nil)
	if err != nil {
		return nil, err
	}
	if add && len(files) > maxAdded {
		return nil, &fault.Error{What: fmt.Sprintf("%d files of counts are added up", len(files)),
			Why: fmt.Sprintf("at most %d files can be added up at a time", maxAdded),
			Fix: "add up some of the files first, then add up the sums"}
	}
	c := &CountsFiles{add: add}
	seen := map[[32]byte]string{}
	for _, in := range files {
		s, err := open(ctx, []*input{in}, false, opt)
		if err != nil {
			return nil, err
		}
		if len(c.sources) > 0 {
			first := c.sources[0]
			if s.classes != first.classes {
				return nil, in.refuse(fmt.Sprintf("has counts of %d classes, but %s has %d classes", s.classes, files[0].name,
					first.classes), "every file must have a column for each class", "give a narrower pattern")
			}
			if add && s.Total() != first.Total() {
				return nil, in.refuse(fmt.Sprintf("has %d queries, but %s has %d", s.Total(), files[0].name,
					first.Total()), "only counts of the same queries can be added up",
					"if the files are parts of the queries, give --join append")
			}
		}
		if twin, there := seen[s.hash]; there && add {
			return nil, &fault.Error{File: in.name, What: "holds the counts that " + twin + " holds",
				Why: "a silo that is added up twice would have two votes", Fix: "omit one of the two files", Check: true}
		}
		seen[s.hash] = in.name
		c.sources = append(c.sources, s)
	}
	return c, nil
}

func (c *CountsFiles) Queries() int {
	if c.add {
		return c.sources[0].Total()
	}
	n := 0
	for _, s := range c.sources {
		n += s.Total()
	}
	return n
}

func (c *CountsFiles) Classes() int { return c.sources[0].classes }

// Write writes the counts in the formats of [Source.WriteCounts].
func (c *CountsFiles) Write(ctx context.Context, w io.Writer, asNPY bool) error {
	return writeCounts(w, asNPY, c.Queries(), c.Classes(), func(yield func([]int, error) bool) {
		if c.add {
			c.eachSum(ctx, yield)
			return
		}
		for _, s := range c.sources {
			for counts, err := range s.eachCount(ctx) {
				if !yield(counts, err) {
					return
				}
			}
		}
	})
}

func (c *CountsFiles) eachSum(ctx context.Context, yield func([]int, error) bool) {
	next := make([]func() ([]int, error, bool), len(c.sources))
	for i, s := range c.sources {
		var stop func()
		next[i], stop = iter.Pull2(s.eachCount(ctx))
		defer stop()
	}
	counts := make([]int, c.Classes())
	for query := range c.Queries() {
		clear(counts)
		for i := range next {
			row, err, _ := next[i]()
			if err != nil {
				yield(nil, err)
				return
			}
			for class, n := range row {
				counts[class] += n
			}
		}
		if err := checkSum("the files together", c.sources[0].teachers, query, counts); err != nil {
			yield(nil, err)
			return
		}
		if !yield(counts, nil) {
			return
		}
	}
	for i := range next { // at the end of a file, a change of the file is detected
		if _, err, more := next[i](); more && err != nil {
			yield(nil, err)
			return
		}
	}
}

// WriteCounts writes the counts, with a row per chosen query in ascending order and a column per class. The
// format is NPY of int32, or CSV without a header. [Open] reads both formats with Options.Counts. WriteCounts
// reads the votes once, in bounded memory. The counts are as secret as the votes. Discard the output after an
// error.
func (s *Source) WriteCounts(ctx context.Context, w io.Writer, asNPY bool) error {
	return writeCounts(w, asNPY, s.Queries(), s.classes, s.eachCount(ctx))
}

func writeCounts(w io.Writer, asNPY bool, queries, classes int, rows iter.Seq2[[]int, error]) error {
	out := bufio.NewWriterSize(w, bufferBytes)
	if asNPY {
		if err := npy.WriteHeader(out, npy.Header{Type: "<i4", Shape: []int{queries, classes}}); err != nil {
			return fmt.Errorf("votes: writing counts: %w", err)
		}
	}
	var line []byte
	for counts, err := range rows {
		if err != nil {
			return err
		}
		line = line[:0]
		for _, n := range counts {
			if asNPY {
				line = binary.LittleEndian.AppendUint32(line, uint32(n))
			} else {
				line = append(strconv.AppendInt(line, int64(n), 10), ',')
			}
		}
		if !asNPY {
			line[len(line)-1] = '\n'
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}
