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

// maxAdded bounds the files that are added at a time, of which each has some room in memory.
const maxAdded = 64

// CountsFiles is files of counts that are one. Make it with [OpenCounts].
type CountsFiles struct {
	sources []*Source
	add     bool
}

// OpenCounts opens files of counts, or those that patterns match, in the order of their names, sorted
// bytewise; opt is that of each file, and its Teachers their number in all. Each file is read once. Files
// are counts of other queries by the same teachers, one after the other; or, with add, of the same queries
// by other teachers, such as those of silos. Of files that are added no two may be equal: one silo twice
// would have two votes.
func OpenCounts(ctx context.Context, paths []string, opt Options, add bool) (*CountsFiles, error) {
	if !opt.Counts || opt.Teachers == 0 || opt.From != 0 || opt.To != 0 {
		return nil, errors.New("votes: several files of counts need Counts, Teachers and all queries")
	}
	files, _, err := findInputs(paths, nil)
	if err != nil {
		return nil, err
	}
	if add && len(files) > maxAdded {
		return nil, &fault.Error{What: fmt.Sprintf("%d files are added", len(files)), Why: fmt.Sprintf("each takes room, and %d are added at a time", maxAdded), Fix: "add some of them first, then the sums"}
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
				return nil, &fault.Error{File: in.name, What: fmt.Sprintf("has counts of %d classes, %s of %d", s.classes, files[0].name, first.classes), Why: "all files have a column for each class", Fix: "narrow the pattern"}
			}
			if add && s.Total() != first.Total() {
				return nil, &fault.Error{File: in.name, What: fmt.Sprintf("has %d queries, %s has %d", s.Total(), files[0].name, first.Total()), Why: "what is added are counts of the same queries by other teachers", Fix: "say that the files are appended, if they are parts of the queries"}
			}
		}
		if twin, there := seen[s.hash]; there && add {
			return nil, &fault.Error{File: in.name, What: "holds the counts that " + twin + " holds", Why: "a silo that is added twice has two votes", Fix: "leave one of them out", Check: true}
		}
		seen[s.hash] = in.name
		c.sources = append(c.sources, s)
	}
	return c, nil
}

// Queries returns how many queries the files have together.
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

// Classes returns the number of classes.
func (c *CountsFiles) Classes() int { return c.sources[0].classes }

// Write writes the counts as [Source.WriteCounts] does.
func (c *CountsFiles) Write(ctx context.Context, w io.Writer, asNPY bool) error {
	out := bufio.NewWriterSize(w, bufferBytes)
	add, err := countsWriter(out, asNPY, c.Queries(), c.Classes())
	if err != nil {
		return err
	}
	if c.add {
		err = c.eachSum(ctx, add)
	} else {
		for _, s := range c.sources {
			if err == nil {
				err = s.eachCount(ctx, add)
			}
		}
	}
	if err == nil {
		err = out.Flush()
	}
	return err
}

// eachSum visits the sums of the files. The next visit overwrites them.
func (c *CountsFiles) eachSum(ctx context.Context, visit func(query int, counts []int) error) error {
	type row struct {
		counts []int
		err    error
	}
	next := make([]func() (row, bool), len(c.sources))
	for i, s := range c.sources {
		var stop func()
		next[i], stop = iter.Pull(func(yield func(row) bool) {
			err := s.eachCount(ctx, func(_ int, counts []int) error {
				if !yield(row{counts: counts}) {
					return errStopped
				}
				return nil
			})
			if err != nil && !errors.Is(err, errStopped) {
				yield(row{err: err})
			}
		})
		defer stop()
	}
	sums := make([]int32, c.Classes())
	counts := make([]int, len(sums))
	for query := range c.Queries() {
		clear(sums)
		for i := range next {
			r, _ := next[i]()
			if r.err != nil {
				return r.err
			}
			for class, n := range r.counts {
				sums[class] += int32(n) // 64 files of 2^20 at most
			}
		}
		if err := c.sources[0].checkSum(query, sums); err != nil {
			var told *fault.Error
			if errors.As(err, &told) {
				told.File = "the files together"
			}
			return err
		}
		for class, n := range sums {
			counts[class] = int(n)
		}
		if err := visit(query, counts); err != nil {
			return err
		}
	}
	for i := range next { // to the end, where a file that changed is told
		if r, more := next[i](); more && r.err != nil {
			return r.err
		}
	}
	return nil
}

// WriteCounts writes the counts of the chosen queries, queries x classes in ascending order: what [Open]
// reads with Options.Counts, and what databases export. They are as secret as the votes. They are written
// as CSV, a line for each query without a header, or as NPY of int32. It reads the votes once, in bounded
// memory; after an error, what was written must not be used.
func (s *Source) WriteCounts(ctx context.Context, w io.Writer, asNPY bool) error {
	out := bufio.NewWriterSize(w, bufferBytes)
	add, err := countsWriter(out, asNPY, s.Queries(), s.classes)
	if err == nil {
		err = s.eachCount(ctx, add)
	}
	if err == nil {
		err = out.Flush()
	}
	return err
}

// countsWriter begins a file of counts, and returns what writes the next query's.
func countsWriter(out io.Writer, asNPY bool, queries, classes int) (func(query int, counts []int) error, error) {
	if asNPY {
		if err := npy.WriteHeader(out, npy.Header{Type: "<i4", Shape: []int{queries, classes}}); err != nil {
			return nil, fmt.Errorf("votes: writing counts: %w", err)
		}
	}
	var line []byte
	return func(_ int, counts []int) error {
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
		_, err := out.Write(line)
		return err
	}, nil
}
