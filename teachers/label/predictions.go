package label

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// predictionReader reads what the student predicts: a CSV file with a line for
// each query of the votes, from query 0 on, and a probability for each class. A
// first line that is no numbers is a heading.
type predictionReader struct {
	path    string
	file    *os.File
	lines   *bufio.Reader
	next    int // query
	line    int
	classes int
}

// maxPredictionLine holds 60 bytes for each of the most classes there can be.
const maxPredictionLine = 1 << 21

// hashPredictions identifies a file of predictions, which are public.
func hashPredictions(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", predictionError(path, "cannot be read", err.Error())
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", predictionError(path, "cannot be read", err.Error())
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

func predictionError(path, what, why string) error {
	return &Error{What: path + ": " + what, Why: why, Fix: "give a line for each query, with a probability for each class"}
}

func openPredictions(path string, classes int) (*predictionReader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, predictionError(path, "cannot be read", err.Error())
	}
	return &predictionReader{path: path, file: f, lines: bufio.NewReaderSize(f, maxPredictionLine), classes: classes}, nil
}

func (r *predictionReader) close() { r.file.Close() } // was only read

// of is the prediction of a query; queries are asked for in ascending order.
func (r *predictionReader) of(query int) ([]float64, error) {
	for {
		text, err := r.lines.ReadSlice('\n')
		if err == io.EOF && len(text) == 0 {
			return nil, predictionError(r.path, fmt.Sprintf("ends before query %d", query), "it has too few lines")
		}
		if err == bufio.ErrBufferFull {
			return nil, predictionError(r.path, fmt.Sprintf("line %d is too long", r.line+1), "")
		}
		if err != nil && err != io.EOF {
			return nil, predictionError(r.path, "cannot be read", err.Error())
		}
		r.line++
		cells := strings.Split(strings.TrimRight(string(text), "\r\n"), ",")
		if r.line == 1 {
			if _, err := strconv.ParseFloat(strings.TrimSpace(cells[0]), 64); err != nil {
				continue // a heading
			}
		}
		if r.next++; r.next <= query {
			continue
		}
		if len(cells) != r.classes {
			return nil, predictionError(r.path, fmt.Sprintf("line %d has %d cells", r.line, len(cells)), fmt.Sprintf("there are %d classes", r.classes))
		}
		p := make([]float64, len(cells))
		for i, cell := range cells {
			if p[i], err = strconv.ParseFloat(strings.TrimSpace(cell), 64); err != nil {
				return nil, predictionError(r.path, fmt.Sprintf("line %d, cell %d is no number", r.line, i+1), "")
			}
		}
		return p, nil
	}
}
