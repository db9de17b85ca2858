package label

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/fault"
)

type predictionReader struct {
	path    string
	file    *os.File
	lines   *bufio.Reader
	hash    hash.Hash // hash of the bytes read
	next    int       // index of the next query
	line    int
	classes int
}

const maxPredictionLine = 1 << 21

func checkPredictions(path string, classes, queries int) (string, error) {
	r, err := openPredictions(path, classes)
	if err != nil {
		return "", err
	}
	defer r.close()
	for q := range queries {
		p, err := r.predictionOf(q)
		if err != nil {
			return "", err
		}
		if err := aggregate.CheckPrediction(p); err != nil {
			return "", predictionError(path, fmt.Sprintf("line %d is not a prediction", r.line), err.Error())
		}
	}
	more, sum, err := r.rest()
	if err == nil && more > 0 {
		err = predictionError(path, fmt.Sprintf("has %d lines too many", more), fmt.Sprintf("the number of queries is %d", queries))
	}
	return sum, err
}

func predictionError(path, what, why string) error {
	return &fault.Error{What: path + ": " + what, Why: why, Fix: "give a line for each query, with a probability for each class"}
}

func openPredictions(path string, classes int) (*predictionReader, error) {
	info, err := os.Stat(path) // Stat comes first because opening a pipe would block
	if err != nil {
		return nil, predictionError(path, "cannot be read", err.Error())
	}
	if !info.Mode().IsRegular() {
		return nil, predictionError(path, "is not a regular file", "the file is read twice: before the charge and while labels are drawn")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, predictionError(path, "cannot be read", err.Error())
	}
	r := &predictionReader{path: path, file: f, hash: sha256.New(), classes: classes}
	r.lines = bufio.NewReaderSize(io.TeeReader(f, r.hash), maxPredictionLine)
	return r, nil
}

func (r *predictionReader) close() { r.file.Close() } // an error does not matter after reading

// predictionOf must be called with ascending queries.
func (r *predictionReader) predictionOf(query int) ([]float64, error) {
	for {
		text, err := r.lines.ReadSlice('\n')
		if err == io.EOF && len(text) == 0 {
			return nil, predictionError(r.path, fmt.Sprintf("ends before query %d", query), "the file has too few lines")
		}
		if err == bufio.ErrBufferFull {
			return nil, predictionError(r.path, fmt.Sprintf("line %d is too long", r.line+1), "")
		}
		if err != nil && err != io.EOF {
			return nil, predictionError(r.path, "cannot be read", err.Error())
		}
		r.line++
		cells := strings.Split(strings.TrimRight(string(text), "\r\n"), ",")
		if r.line == 1 && !slices.ContainsFunc(cells, isNumber) {
			continue
		}
		if r.next++; r.next <= query {
			continue
		}
		if len(cells) != r.classes {
			return nil, predictionError(r.path, fmt.Sprintf("line %d has %d cells", r.line, len(cells)),
				fmt.Sprintf("there are %d classes", r.classes))
		}
		p := make([]float64, len(cells))
		for i, cell := range cells {
			if p[i], err = strconv.ParseFloat(strings.TrimSpace(cell), 64); err != nil {
				return nil, predictionError(r.path, fmt.Sprintf("line %d, cell %d is not a number", r.line, i+1), "")
			}
		}
		return p, nil
	}
}

func isNumber(cell string) bool {
	_, err := strconv.ParseFloat(strings.TrimSpace(cell), 64)
	return err == nil
}

func (r *predictionReader) rest() (more int, sum string, err error) {
	for {
		text, err := r.lines.ReadSlice('\n')
		if len(bytes.TrimSpace(text)) > 0 {
			more++
		}
		switch {
		case err == io.EOF:
			return more, hex.EncodeToString(r.hash.Sum(nil)[:16]), nil
		case err != nil && err != bufio.ErrBufferFull:
			return more, "", predictionError(r.path, "cannot be read", err.Error())
		}
	}
}

func (r *predictionReader) unchanged(sum string) error {
	_, is, err := r.rest()
	if err == nil && is != sum {
		err = &fault.Error{What: r.path + " was changed while it was read",
			Why: "the labels would not belong to the predictions that were checked",
			Fix: "restore the file and run the command again, at no further cost"}
	}
	return err
}
