package dataset

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/fault"
)

func rowsUntilError(next func() (row, error)) (rows []row, err error) {
	for {
		r, err := next()
		if err != nil {
			return rows, err
		}
		rows = append(rows, row{r.line, append([]string{}, r.cells...)})
	}
}

// FuzzRowsAreThoseOfEncodingCSV compares rows, their lines and errors with those of package encoding/csv alone.
func FuzzRowsAreThoseOfEncodingCSV(f *testing.F) {
	for _, text := range []string{"x,y,c\n1,?,b\n3,4,a", "\"a\nb\",1\r\n\r\n2,\"3\"\"4\"\n", "1; 2\n\"3\";4\r", "a\rb,\r\r\n\n,\r", "1,\"2\" ,3\n", "1\"2,3\n\"",
		"\xef\xbb\xbf \"a\", b\n\"\",\"\n\n\"\n", "\xff,\u00a0x\u00a0\n\"\xff\"\n", "  \n\t,\v\n\r\n\r",
		"12 € a,» b « c;d,ø\n"} { // a separator with its highest bit set is no separator
		for _, comma := range []rune{',', ';', '\t', ' ', 'x', '\v', 'é', 0, -1} {
			f.Add([]byte(text), comma, byte(3))
		}
	}
	f.Fuzz(func(t *testing.T, file []byte, comma rune, chunk byte) {
		r, err := newRowReader(bytes.NewReader(file), "f.csv", CSVOptions{Comma: comma})
		if err != nil {
			require.Contains(t, "\"\r\n\ufffd", string(comma)) // a rune that is not valid becomes the last
			return
		}
		c := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(file, []byte("\ufeff"))))
		c.Comma, c.FieldsPerRecord, c.TrimLeadingSpace = r.comma, -1, r.comma != '\t' && r.comma != ' '
		want, refused := rowsUntilError(func() (row, error) {
			cells, err := c.Read()
			if err != nil {
				return row{}, err
			}
			line, _ := c.FieldPos(0)
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			return row{line, cells}, nil
		})
		small := *r // the same bytes in small pieces
		small.plain, small.end, small.text = iotest.OneByteReader(strings.NewReader(r.text)), nil, ""
		small.buffer, small.quoted = make([]byte, int(chunk)+1), csv.NewReader(&small.one)
		small.quoted.Comma, small.quoted.FieldsPerRecord, small.quoted.TrimLeadingSpace = c.Comma, -1, c.TrimLeadingSpace
		for _, reader := range []*rowReader{r, &small} {
			got, err := rowsUntilError(reader.next)
			require.Equal(t, want, got)
			var parse *csv.ParseError
			var failed *fault.Error
			switch {
			case errors.As(refused, &parse):
				require.ErrorAs(t, err, &failed)
				require.Equal(t, parse.StartLine, failed.Row)
				require.ErrorIs(t, err, parse.Err)
				require.Contains(t, failed.What, "line "+strconv.Itoa(parse.Line)+", character "+strconv.Itoa(parse.Column))
			case errors.Is(refused, io.EOF):
				require.Equal(t, io.EOF, err)
			default:
				require.NoError(t, refused)
			}
		}
	})
}

func FuzzShortDecimal(f *testing.F) {
	for _, text := range []string{"", "-", "+", ".", "-.", "1.", ".5", "-0", "-12.50", "+7", "1e5", "1_0", "0x1", "1..2", "--1", "999999999999999", "1234567890123456",
		"0.000000000000001", "0.0000000000000001", "-00000000000001.5", "9.87654321098765", "٣", "inf", "123456789.012345"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, err := strconv.ParseFloat(text, 64)
		if v, short := shortDecimal(text); short {
			require.NoError(t, err)
			require.Equal(t, math.Float64bits(want), math.Float64bits(v))
		} else if err == nil && len(text) <= 16 {
			require.Regexp(t, `(?i)^[+-]?(inf|nan|infinity|0x.*|.*[ep_].*|\d{16})$`, text)
		}
	})
}
