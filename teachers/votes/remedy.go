package votes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pate-go/pate/fault"
)

type cellError struct{ told *fault.Error }

func (e cellError) Error() string { return e.told.Error() }
func (e cellError) Unwrap() error { return e.told }

func (s *Source) explained(ctx context.Context, err error) error {
	var cell cellError
	if !errors.As(err, &cell) {
		return err
	}
	told := *cell.told
	told.Why += ownerNotice
	switch {
	case s.opt.Counts:
		told.Fix = "fix the count; shares and probabilities are not counts, because each teacher votes once"
	case s.opt.ClassNames != nil:
		told.Fix = "name every public class, with the spelling of the file; a missing vote is an empty cell"
	default:
		found, err := s.survey(ctx)
		if err != nil {
			return err
		}
		if fix := s.remedy(found); fix != "" {
			told.Fix = fix
		}
	}
	return &told
}

func (s *Source) remedy(f survey) string {
	switch {
	case f.numbered && len(s.files) == 1 && s.shape.cursors[0].npy == nil && !s.shape.cursors[0].in.table() &&
		!s.opt.Transpose && f.most >= s.classes:
		return "column 1 has row numbers instead of votes: give --index-column, or remove the column, " + s.withoutIndex()
	case f.numbered && len(s.files) == 1 && !s.opt.Transpose && f.most >= s.classes:
		return "column 1 has row numbers instead of votes: remove the column, " + s.withoutIndex()
	case f.text > 0 && f.text >= f.whole:
		return "give --class-names A,B,C with the names of all classes, in a fixed order (from public sources, not from the votes)"
	case f.text > 0:
		return "write a missing vote as -1 or as an empty cell, never as a word"
	case f.shares > 0 && s.shape.cols == s.classes:
		return "these are probabilities of classes, but each teacher votes for one class. " +
			"Give the files of all teachers and --probabilities; or put all columns side by side, " + stackLine(s.files[0].name)
	case f.shares > 0 && s.classes == 2:
		return "make votes from probabilities of class 1, " + s.python("(%s > 0.5).astype(\"int8\")")
	case f.shares > 0:
		return "before saving, replace probabilities by the most probable class, in Python: numpy.argmax over the classes"
	case f.nan > 0 && f.other == 0:
		return "write missing votes as -1, " + s.python("np.nan_to_num(%s, nan=-1)")
	case f.other > 0:
		return "save the class numbers that the teachers chose; a missing vote is -1 and no other number"
	case s.shape.cols == s.classes && f.most > s.classes:
		return "if each column is a class and each cell is a number of votes, give --counts and --teachers N"
	case s.shape.rows == s.classes && f.most > s.classes:
		return "if each row is a class and each cell is a number of votes, give --counts, --transpose and --teachers N"
	case s.opt.FirstClass == 0 && f.least >= 1 && f.most == s.classes:
		return "if the classes are numbered from 1, give --first-class 1"
	case s.opt.FirstClass > 0 && f.least < s.opt.FirstClass:
		return fmt.Sprintf("the file has numbers below %d: if its classes are numbered from 0, omit --first-class", s.opt.FirstClass)
	}
	return "give the number of classes as --classes, or fix the vote"
}

func (s *Source) withoutIndex() string {
	form := s.shape.cursors[0]
	name := s.files[0].name
	if form.npy != nil || form.in.table() {
		return s.python("%s[:, 1:]")
	}
	header := ", header=None"
	written := ", header=False"
	if form.csv.form.headers > 0 {
		header, written = "", ""
	}
	return inPython(fmt.Sprintf("pd.read_csv(%q, index_col=0%s).to_csv(%q, index=False%s)", name,
		header+separator(form.csv.form.sep), beside(name, ".csv"), written))
}

// python returns a line of Python that saves the expression `made`, in which %s stands for the loaded file.
func (s *Source) python(made string) string {
	cur, name := s.shape.cursors[0], s.files[0].name
	load := fmt.Sprintf("np.load(%q)", name)
	switch {
	case cur.in.table():
		load = fmt.Sprintf("pd.read_parquet(%q).values", name)
	case cur.npy == nil:
		load = fmt.Sprintf("np.genfromtxt(%q, delimiter=%q, skip_header=%d)", name, string(cur.csv.form.sep), cur.csv.form.headers)
	}
	line := saved(name, "", fmt.Sprintf(made, load))
	if len(s.files) > 1 {
		return "in each of the files, " + line
	}
	return line
}

func separator(sep byte) string {
	if sep == ',' {
		return ""
	}
	return fmt.Sprintf(", sep=%q", string(sep))
}

func inPython(line string) string {
	return "convert the file in Python: " + strings.ReplaceAll(line, stdinName, "votes")
}

// saved returns a line of Python that runs setup and saves the array expr. In setup and expr, the quoted name
// replaces %q.
func saved(name, setup, expr string) string {
	line := fmt.Sprintf("%snp.save(%q, %s)", setup, beside(name, ".npy"), expr)
	return inPython(strings.ReplaceAll(line, "%q", strconv.Quote(name)))
}

func stackLine(name string) string {
	return saved(name, "", "np.stack([t.predict(rows) for t in teachers], axis=1)")
}

func beside(name, ext string) string {
	return strings.TrimSuffix(name, filepath.Ext(name)) + "-fixed" + ext
}

const ownerNotice = "; this message may reveal private votes: show it to the data owner alone"

type survey struct {
	whole, missing, shares, nan, text, other int64 // cells
	least, most                              int   // least and largest whole number
	numbered                                 bool  // column 1 numbers the rows
}

const surveyLimit = 1 << 30

func (s *Source) survey(ctx context.Context) (survey, error) {
	wide := *s
	wide.dom = domain{low: Abstention, limit: surveyLimit}
	out := survey{least: surveyLimit, most: Abstention, numbered: s.shape.rows > 2 && s.shape.cols > 1}
	begin := 0
	err := eachBlock(ctx, &wide, 0, s.shape.rows, func(first int, cells []int32, _ int) error {
		if first == 0 {
			begin = int(cells[0])
			out.numbered = out.numbered && (begin == 0 || begin == 1)
		}
		for i := 0; i < len(cells) && out.numbered; i += s.shape.cols {
			out.numbered = int(cells[i]) == begin+first+i/s.shape.cols
		}
		for _, v := range cells {
			switch v := int(v); {
			case v >= 0:
				out.whole++
				out.least, out.most = min(out.least, v), max(out.most, v)
			case v == Abstention:
				out.missing++
			case v == badShare:
				out.shares++
			case v == badNaN:
				out.nan++
			case v == badText:
				out.text++
			default:
				out.other++
			}
		}
		return nil
	})
	return out, err
}
