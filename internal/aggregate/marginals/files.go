package marginals

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/pate-go/pate/internal/table"
)

// Write writes noisy counts as CSV. The function describe returns the names of a column and of its bins.
func Write(out io.Writer, counts [][]int64, describe Describe) error {
	file := table.Table{Header: []string{"column", "values", "noisy count"}}
	for j, column := range counts {
		name, values := describe(j)
		for b, n := range column {
			file.Rows = append(file.Rows, []string{name, values[b], strconv.FormatInt(n, 10)})
		}
	}
	return file.Write(out, table.CSV)
}

// Read reads the counts that [Write] wrote. The slice bins holds the number of bins of each column.
func Read(file io.Reader, bins []int) ([][]int64, error) {
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("marginals: %w", err)
	}
	counts, at := make([][]int64, len(bins)), 1
	for column, n := range bins {
		for range n {
			if at >= len(lines) || len(lines[at]) != 3 {
				return nil, errors.New("marginals: the file does not have the bins that are declared")
			}
			count, err := strconv.ParseInt(lines[at][2], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("marginals: %w", err)
			}
			counts[column] = append(counts[column], count)
			at++
		}
	}
	return counts, nil
}

func (c *Counts) writeTree(out io.Writer, describe Describe) error {
	file := table.Table{Header: []string{"column", "values", "paired with", "values", "noisy count"}}
	for _, p := range c.Pairs {
		var names [2]string
		var groups [2][]string
		for i, j := range p.Columns {
			name, bins := describe(j)
			names[i], groups[i] = name, make([]string, c.sizes[j])
			for b, group := range c.groups[j] {
				if groups[i][group] != "" {
					groups[i][group] += " | "
				}
				groups[i][group] += bins[b]
			}
		}
		for cell, n := range p.Counts {
			a, b := cell/len(groups[1]), cell%len(groups[1])
			file.Rows = append(file.Rows, []string{names[0], groups[0][a], names[1], groups[1][b], strconv.FormatInt(n, 10)})
		}
	}
	return file.Write(out, table.CSV)
}

// readTree reads the result of writeTree. The field c.layout must be set.
func (c *Counts) readTree(file io.Reader, describe Describe) error {
	in := csv.NewReader(file)
	in.FieldsPerRecord = 5
	lines, err := in.ReadAll()
	if err != nil {
		return fmt.Errorf("marginals: %w", err)
	}
	number, err := printedNames(len(c.groups), describe)
	if err != nil {
		return err
	}
	at := 1
	for range len(c.groups) - 1 {
		var p Pair
		for end := 0; at < len(lines); at++ {
			a, known := number[lines[at][0]]
			b, paired := number[lines[at][2]]
			count, err := strconv.ParseInt(lines[at][4], 10, 64)
			if !known || !paired || err != nil || end > 0 && p.Columns != [2]int{a, b} {
				return errors.New("marginals: the file does not have the tables that were released")
			}
			p.Columns, end, p.Counts = [2]int{a, b}, c.sizes[a]*c.sizes[b], append(p.Counts, count)
			if len(p.Counts) == end {
				at++
				break
			}
		}
		c.Pairs = append(c.Pairs, p)
	}
	if n := len(c.Pairs); at != len(lines) || len(c.Pairs[n-1].Counts) != c.sizes[c.Pairs[n-1].Columns[0]]*c.sizes[c.Pairs[n-1].Columns[1]] {
		return errors.New("marginals: the file does not have the tables that were released")
	}
	return nil
}

func printedNames(columns int, describe Describe) (map[string]int, error) {
	var names table.Table
	for j := range columns {
		name, _ := describe(j)
		names.Header = append(names.Header, name)
	}
	var text bytes.Buffer
	if err := names.Write(&text, table.CSV); err != nil {
		return nil, err
	}
	line, err := csv.NewReader(&text).Read()
	if err != nil {
		return nil, fmt.Errorf("marginals: %w", err)
	}
	number := map[string]int{}
	for j, name := range line {
		number[name] = j
	}
	return number, nil
}
