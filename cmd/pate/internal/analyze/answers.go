package analyze

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/teachers/votes"
)

// readAnswers reads which of the chosen queries were answered, from the file that
// `pate label` wrote.
func readAnswers(path string, votes *votes.Source) ([]bool, error) {
	file, err := durable.OpenRegular(path)
	if err != nil {
		return nil, shell.InputError(err, "the answers are read from this file", "check its name", "votes")
	}
	defer file.Close()
	from, to := votes.Range()
	answered, err := parseAnswers(file, from, to, votes.Classes(), votes.ClassNames())
	if err != nil {
		return nil, shell.InputError(fmt.Errorf("%s: %w", path, err),
			"answers are lines query,label with an empty label where the mechanism declined",
			"give the file that pate label wrote for these votes", "votes")
	}
	return answered, nil
}

// parseAnswers reads lines query,label, where an empty label is a declined query,
// below a header or none. A label is one of the names, if there are any. Every query
// from <= q < to must be there, once; others are passed over.
func parseAnswers(r io.Reader, from, to, classes int, names []string) ([]bool, error) {
	answered, seen := make([]bool, to-from), make([]bool, to-from)
	in := csv.NewReader(r)
	in.FieldsPerRecord, in.ReuseRecord = 2, true
	for line := 1; ; line++ {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if line == 1 && record[0] == "query" {
			continue
		}
		query, err := strconv.Atoi(record[0])
		if err != nil || query < 0 {
			return nil, fmt.Errorf("line %d: %.20q is not the number of a query", line, record[0])
		}
		if query < from || query >= to {
			continue
		}
		if seen[query-from] {
			return nil, fmt.Errorf("line %d: query %d stands there twice", line, query)
		}
		if record[1] != "" && !slices.Contains(names, record[1]) {
			if label, err := strconv.Atoi(record[1]); err != nil || names != nil || label < 0 || label >= classes {
				return nil, fmt.Errorf("line %d: %.20q is not a class", line, record[1])
			}
		}
		seen[query-from], answered[query-from] = true, record[1] != ""
	}
	for i, ok := range seen {
		if !ok {
			return nil, fmt.Errorf("query %d is not there", from+i)
		}
	}
	return answered, nil
}
