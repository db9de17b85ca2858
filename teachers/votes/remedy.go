package votes

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pate-go/pate/fault"
)

// cellError is the error for a cell that is no vote.
type cellError struct{ told *fault.Error }

func (e cellError) Error() string { return e.told.Error() }
func (e cellError) Unwrap() error { return e.told }

// explained adds to the error for a cell what would mend the file, which it reads once more, and for whom
// the error is.
func (s *Source) explained(ctx context.Context, err error) error {
	var cell cellError
	if !errors.As(err, &cell) {
		return err
	}
	told := *cell.told
	told.Why += ownerNotice
	switch {
	case s.opt.Counts:
		told.Fix = "fix the count; shares and probabilities are no counts: each teacher votes once"
	case s.opt.ClassNames != nil:
		told.Fix = "spell the names as the file does, and name every public class; a missing vote is an empty cell"
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

// remedy says what would mend a file of labels, "" if that cannot be told.
func (s *Source) remedy(f survey) string {
	switch {
	case f.numbered && len(s.files) == 1 && s.shape.cursors[0].npy == nil && !s.shape.cursors[0].in.table() && !s.opt.Transpose && f.most >= s.classes:
		return "column 1 counts the rows and is no teacher: say --index-column, or take it out, " + s.withoutIndex()
	case f.numbered && len(s.files) == 1 && !s.opt.Transpose && f.most >= s.classes:
		return "column 1 counts the rows and is no teacher: take it out, " + s.withoutIndex()
	case f.text > 0 && f.text >= f.whole:
		return "say --class-names A,B,C with the names of all classes, in an order that stays (from what is public, not from the votes)"
	case f.text > 0:
		return "write a missing vote as -1 or as an empty cell, and no other word"
	case f.shares > 0 && s.shape.cols == s.classes:
		return "these are probabilities of classes: each teacher votes for one. Name the files of all teachers and say --probabilities; or put all side by side, " + stackLine(s.files[0].name)
	case f.shares > 0 && s.classes == 2:
		return "of probabilities of class 1 make votes, " + s.python("(%s > 0.5).astype(\"int8\")")
	case f.shares > 0:
		return "of probabilities take the class with the largest, in Python: numpy.argmax over the classes, before saving"
	case f.nan > 0 && f.other == 0:
		return "write missing votes as -1, " + s.python("np.nan_to_num(%s, nan=-1)")
	case f.other > 0:
		return "save the numbers of the classes the teachers chose; -1 alone is a missing vote"
	case s.shape.cols == s.classes && f.most > s.classes:
		return "if each column is a class and each cell a number of votes, say --counts and, with --teachers N, how many teachers there are"
	case s.shape.rows == s.classes && f.most > s.classes:
		return "if each row is a class and each cell a number of votes, say --counts --transpose and, with --teachers N, how many teachers there are"
	case s.opt.FirstClass == 0 && f.least >= 1 && f.most == s.classes:
		return "if the classes are numbered from 1, say --first-class 1"
	case s.opt.FirstClass > 0 && f.least < s.opt.FirstClass:
		return fmt.Sprintf("the file has numbers below %d: leave --first-class out if its classes count from 0", s.opt.FirstClass)
	}
	return "state how many classes there are with --classes, or fix the vote"
}

// withoutIndex returns the line of Python that takes column 1 out.
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
	return inPython(fmt.Sprintf("pd.read_csv(%q, index_col=0%s).to_csv(%q, index=False%s)", name, header+separator(form.csv.form.sep), beside(name, ".csv"), written))
}

// python returns the line of Python that saves what is made of the file anew.
func (s *Source) python(made string) string {
	cur, name := s.shape.cursors[0], s.files[0].name
	load := fmt.Sprintf("np.load(%q)", name)
	switch {
	case cur.in.table():
		load = fmt.Sprintf("pd.read_parquet(%q).values", name)
	case cur.npy == nil:
		load = fmt.Sprintf("np.genfromtxt(%q, delimiter=%q, skip_header=%d)", name, string(cur.csv.form.sep), cur.csv.form.headers)
	}
	line := inPython(saveLine(name, fmt.Sprintf(made, load)))
	if len(s.files) > 1 {
		return "in each of the files, " + line
	}
	return line
}

// separator returns how pandas is told a separator.
func separator(sep byte) string {
	if sep == ',' {
		return ""
	}
	return fmt.Sprintf(", sep=%q", string(sep))
}

// inPython introduces a line of Python, in which np is numpy and pd is pandas. What came from standard
// input has no name there.
func inPython(line string) string {
	return "in Python: " + strings.ReplaceAll(line, stdinName, "votes")
}

func saveLine(name, made string) string {
	return fmt.Sprintf("np.save(%q, %s)", beside(name, ".npy"), made)
}

// stackLine returns the line of Python that saves the votes of trained models.
func stackLine(name string) string {
	return inPython(saveLine(name, "np.stack([t.predict(rows) for t in teachers], axis=1)"))
}

// beside names the mended file beside the file it is made of.
func beside(name, ext string) string {
	return strings.TrimSuffix(name, filepath.Ext(name)) + "-fixed" + ext
}
