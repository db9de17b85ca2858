package site

import (
	_ "embed"
	"fmt"
	"strings"
)

// code.txt has the functions that chapters show, as they stand in the source: a line with
// "== " and the name, then the text. A test compares it with the source and writes it anew
// with UPDATE_GOLDEN=1.
//
//go:embed code.txt
var code string

type excerpt struct{ Name, Text string }

func excerpts(names []string) ([]excerpt, error) {
	var out []excerpt
	for _, name := range names {
		_, rest, found := strings.Cut("\n"+code, "\n== "+name+"\n")
		if !found {
			return nil, fmt.Errorf("site: code.txt has no %s", name)
		}
		text, _, _ := strings.Cut(rest, "\n== ")
		out = append(out, excerpt{name, strings.TrimSpace(text)})
	}
	return out, nil
}
