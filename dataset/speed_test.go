package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// numbersAndWords returns rows of 17 numbers and 3 words with one of three labels.
func numbersAndWords(rows int, seed uint64) []byte {
	rng, words := rand.New(rand.NewPCG(seed, 0)), []string{"red", "green", "north east", "south", "unknown"}
	text := []byte{}
	for j := range 20 {
		text = fmt.Appendf(text, "x%d,", j)
	}
	text = append(text, "label\n"...)
	for range rows {
		y := rng.IntN(3)
		for j := range 20 {
			if j%7 == 3 {
				text = append(text, words[rng.IntN(3)+y]...)
			} else {
				text = strconv.AppendFloat(text, rng.NormFloat64()+float64((j+y)%3), 'f', 4, 64)
			}
			text = append(text, ',')
		}
		text = append(text, "abc"[y], '\n')
	}
	return text
}

// BenchmarkTable reads rows without their meaning (records), with the schema of public rows (private), and of a table that
// is split (split). With -cpu 1, the bytes per second are those of one processor.
func BenchmarkTable(b *testing.B) {
	file, dir := numbersAndWords(300_000, 1), b.TempDir()
	private, public := filepath.Join(dir, "private.csv"), filepath.Join(dir, "public.csv")
	require.NoError(b, os.WriteFile(private, file, 0o600))
	require.NoError(b, os.WriteFile(public, numbersAndWords(20_000, 2), 0o600))
	reading := Reading{CSV: CSVOptions{Label: "label"}}
	schema, _, err := ReadPublic(Source{Path: public}, reading)
	require.NoError(b, err)
	for _, c := range []struct {
		name string
		read func() error
	}{
		{"records", func() error {
			rows, err := newRowReader(bytes.NewReader(file), private, reading.CSV)
			for err == nil {
				_, err = rows.next()
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}},
		{"private", func() error {
			_, err := schema.ReadPrivate(Source{Path: private})
			return err
		}},
		{"split", func() error {
			data, err := Open(private, Options{CSV: reading.CSV})
			if err == nil {
				_, err = data.Task(Literature)
			}
			return err
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, c.read())
			}
		})
	}
}
