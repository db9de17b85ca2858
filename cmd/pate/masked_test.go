package main

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a release may show that a unit changes was charged: accuracies of charged models,
// released labels and parameters, and numbers with noise. Those are masked; so are the number
// of private units, which is public, and hashes and identifiers, which are those of charged
// bytes or pseudorandom under a secret key.

// charged are keys of JSON and columns of CSV whose values were charged. Times are for
// Stdout alone and no part of any file.
var charged = []string{"accuracy", "recall", "standard_error", "sd", "auroc", "auroc_sd", "label", "label_accuracy", "answered", "declined", "private", "seconds", "cost", "epsilon_released", "chosen", "runs", "noisy count"}

var (
	hexadecimal = regexp.MustCompile(`\b[0-9a-f]{32,}\b|"check":"[0-9a-f]+"`)
	picture     = regexp.MustCompile(`(?s)<svg.*?</svg>`)
	numbers     = regexp.MustCompile(`[0-9.]+`)
)

// masked returns what a file shows apart from charged values.
func masked(t *testing.T, name string, text []byte) string {
	t.Helper()
	switch filepath.Ext(name) {
	case ".svg": // drawn from charged numbers
		return "a picture"
	case ".html":
		text = bytes.ReplaceAll(picture.ReplaceAll(text, nil), []byte(`class="cell worst"`), []byte(`class="cell"`)) // the least of charged numbers
		text = bytes.ReplaceAll(text, []byte("<td></td><td>σ"), []byte("<td>0</td><td>σ"))                           // that none of the labels is right is charged
		return numbers.ReplaceAllString(string(text), "#")
	case ".json":
		return maskedJSON(t, text)
	case ".jsonl":
		return hexadecimal.ReplaceAllString(string(text), "#")
	case ".csv":
		return maskedCSV(t, text)
	case ".model":
		return maskedModel(t, text)
	case ".key", ".id":
		return "a secret"
	}
	return hexadecimal.ReplaceAllString(string(text), "#")
}

func maskedJSON(t *testing.T, text []byte) string {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(text, &v), "%s", text)
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if _, ok := v["cost"]; ok { // a released bound: both are one noisy number
				v["epsilon"] = "#"
			}
			delete(v, "label_accuracy") // charged, and left out where it is 0
			for key, e := range v {
				if slices.Contains(charged, key) {
					v[key] = "#"
				}
				walk(e)
			}
		}
	}
	walk(v)
	out, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return hexadecimal.ReplaceAllString(string(out), "#")
}

func maskedCSV(t *testing.T, text []byte) string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	require.NoError(t, err)
	for j, column := range rows[0] {
		if slices.Contains(charged, column) || strings.HasPrefix(column, "votes ") || strings.HasPrefix(column, "asked ") { // noisy counts, and what was drawn from them
			for _, row := range rows[1:] {
				row[j] = "#"
			}
		}
	}
	for _, row := range rows[1:] { // which pool rows are asked is drawn at random
		if strings.HasPrefix(row[0], "pool/") {
			row[0] = "pool/#"
		}
	}
	return fmt.Sprint(rows)
}

// maskedModel is the card of a model and the lengths of its parts.
func maskedModel(t *testing.T, file []byte) string {
	t.Helper()
	magic, rest, ok := bytes.Cut(file, []byte("\n"))
	require.True(t, ok)
	card := rest[24:][:binary.LittleEndian.Uint64(rest)]
	return fmt.Sprintf("%s %d %x %s", magic, len(file), rest[:24], card)
}
