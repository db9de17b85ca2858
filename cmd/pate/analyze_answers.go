package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/pate-go/pate/teachers"
)

// readAnswers reads which of the chosen queries were answered, from the lines
// query,label of `pate label`, where an empty label is a declined query. Every
// chosen query must be there, once; others are passed over.
func readAnswers(path string, votes *teachers.VoteSource) ([]bool, error) {
	bad := func(format string, args ...any) error {
		return inputError(fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)),
			"answers are lines query,label with an empty label where the mechanism declined",
			"give the file that pate label wrote for these votes", "votes")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, inputError(err, "the answers are read from this file", "check its name", "votes")
	}
	defer file.Close()
	from, to := votes.Range()
	answered, seen := make([]bool, to-from), make([]bool, to-from)
	in := csv.NewReader(file)
	in.FieldsPerRecord, in.ReuseRecord = 2, true
	for line := 1; ; line++ {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, bad("%v", err)
		}
		if line == 1 && record[0] == "query" {
			continue
		}
		query, err := strconv.Atoi(record[0])
		if err != nil || query < 0 {
			return nil, bad("line %d: %.20q is not the number of a query", line, record[0])
		}
		if query < from || query >= to {
			continue
		}
		if seen[query-from] {
			return nil, bad("line %d: query %d stands there twice", line, query)
		}
		if record[1] != "" {
			if label, err := strconv.Atoi(record[1]); err != nil || label < 0 || label >= votes.Classes() {
				return nil, bad("line %d: %.20q is not a class", line, record[1])
			}
		}
		seen[query-from], answered[query-from] = true, record[1] != ""
	}
	for i, ok := range seen {
		if !ok {
			return nil, bad("query %d is not there", from+i)
		}
	}
	return answered, nil
}
