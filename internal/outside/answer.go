package outside

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"strings"
	"unique"

	"github.com/pate-go/pate/internal/accountant/audit"
)

const mostCells = 20_000 // cells of an answer that become features

var seed = maphash.MakeSeed()

// Outcome returns the labels and the numbers that an audit compares. The entry groups[q] is the group of
// query q. Queries with equal votes may share a group, because their labels have equal distributions. All
// rows without a query form one group.
//
// After a failure, o has two labels: a hash of a.Text, and the failure. Otherwise, labels describe the hash,
// the number of rows, and each cell with its group. The numbers of o are means within each group: one per
// column, and one over all columns. The means of queries skip whole numbers, such as class indices.
func (a Answer) Outcome(groups []int) (o audit.Outcome[string]) {
	add := func(format string, args ...any) {
		o.Labels = append(o.Labels, unique.Make(fmt.Sprintf(format, args...)).Value())
	}
	add("hash %x", maphash.Bytes(seed, a.Text))
	if a.Failure != "" {
		add("%s", a.Failure)
		return o
	}
	rows, sums := 0, map[string][2]float64{} // sum and number of values
	readRows(a.Text, len(groups), func(row int, name, value string) {
		rows = max(rows, row+1)
		group := -1
		if row >= 0 && row < len(groups) {
			group = groups[row]
		}
		x, err := strconv.ParseFloat(value, 64)
		if whole := x == math.Trunc(x); err == nil && !math.IsNaN(x) && (group < 0 || !whole) {
			for _, of := range []string{name, "of all columns"} {
				mean := fmt.Sprintf("query %d: mean %s", group, of)
				sums[mean] = [2]float64{sums[mean][0] + x, sums[mean][1] + 1}
			}
			if !whole { // two digits are kept, because a value that occurs only once is no evidence
				value = strconv.FormatFloat(x, 'e', 1, 64)
			}
		}
		if len(o.Labels) < mostCells {
			add("query %d: %s %s", group, name, value)
		}
	})
	add("%d rows", rows)
	o.Numbers = make(map[string]float64, len(sums))
	for name, s := range sums {
		o.Numbers[name] = s[0] / s[1]
	}
	return o
}

// readRows calls the function cell once per scalar of JSON or field of CSV. In JSON, row is the index in the
// outermost list. Without a list, row is -1. In CSV, row is the number in the column "query". Without a valid
// number, row is the index of the record.
func readRows(text []byte, queries int, cell func(row int, name, value string)) {
	var tree any
	if bytes.HasPrefix(text, []byte("[")) || bytes.HasPrefix(text, []byte("{")) {
		if json.Unmarshal(text, &tree) == nil {
			walk(-1, "", tree, cell)
			return
		}
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	records, err := r.ReadAll()
	if err != nil || len(records) == 0 {
		return
	}
	header := []string{}
	if len(records) == queries+1 || records[0][0] == "query" {
		header, records = records[0], records[1:]
	}
	query := slices.Index(header, "query")
	for i, record := range records {
		skip := -1
		if query >= 0 && query < len(record) {
			if n, err := strconv.Atoi(strings.TrimSpace(record[query])); err == nil && n >= 0 && n < queries {
				i, skip = n, query
			}
		}
		for c, value := range record {
			name := ""
			if c < len(header) {
				name = header[c]
			}
			if c != skip {
				cell(i, name, strings.TrimSpace(value))
			}
		}
	}
}

func walk(row int, name string, v any, cell func(row int, name, value string)) {
	switch v := v.(type) {
	case []any:
		for i, x := range v {
			if row < 0 {
				walk(i, name, x, cell)
			} else {
				walk(row, fmt.Sprintf("%s[%d]", name, i), x, cell)
			}
		}
	case map[string]any:
		for k, x := range v {
			walk(row, name+"."+k, x, cell)
		}
	default:
		cell(row, name, fmt.Sprint(v))
	}
}
