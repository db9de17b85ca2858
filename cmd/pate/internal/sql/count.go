package sql

import (
	"fmt"
	"strings"
)

// count says which votes are counted.
type count struct {
	dialect
	Table, Query, Teacher, Vote string // the votes: one row for each that was cast
	Pool, PoolQuery             string // the public queries; "" where only those voted on are known
	Teachers                    int
	Classes                     []string // as the vote column holds them, numbers or words
	Words                       bool     // are they words
}

// values returns the classes as literals.
func (c count) values() []string {
	out := make([]string, len(c.Classes))
	for i, name := range c.Classes {
		out[i] = name
		if c.Words {
			out[i] = c.literal(name)
		}
	}
	return out
}

// votes returns the common beginning: votes, where a missing one is null, and the pool.
func (c count) votes() string {
	vote := c.column(c.Vote)
	if !c.Words {
		vote = fmt.Sprintf("CASE WHEN %[1]s = -1 THEN NULL ELSE %[1]s END", vote)
	}
	pool := "SELECT DISTINCT q FROM cast_votes WHERE q IS NOT NULL"
	if c.Pool != "" {
		pool = fmt.Sprintf("SELECT %s AS q FROM %s", c.column(c.PoolQuery), c.table(c.Pool))
	}
	return fmt.Sprintf(`WITH cast_votes AS (
  SELECT %s AS q, %s AS t, %s AS v FROM %s
), pool AS (
  %s
)`, c.column(c.Query), c.column(c.Teacher), vote, c.table(c.Table), pool)
}

// problems returns a query with a row for each thing that must not be, and how often it is.
func (c count) problems() string {
	lines := []string{
		"SELECT 'a teacher voted twice on one query' AS problem, COUNT(*) AS n FROM (SELECT q, t FROM cast_votes GROUP BY q, t HAVING COUNT(*) > 1) twice",
		fmt.Sprintf("SELECT 'there are more than %d teachers', CASE WHEN COUNT(DISTINCT t) > %[1]d THEN COUNT(DISTINCT t) ELSE 0 END FROM cast_votes", c.Teachers),
		fmt.Sprintf("SELECT 'a vote is for none of the classes', COUNT(*) FROM cast_votes WHERE v IS NOT NULL AND v NOT IN (%s)", strings.Join(c.values(), ", ")),
		"SELECT 'a vote is without a query or a teacher', COUNT(*) FROM cast_votes WHERE q IS NULL OR t IS NULL",
	}
	if c.Pool != "" {
		lines = append(lines,
			"SELECT 'a vote is on a query that is not in the pool', COUNT(*) FROM cast_votes WHERE q IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pool WHERE pool.q = cast_votes.q)",
			"SELECT 'a query is twice in the pool', COUNT(*) FROM (SELECT q FROM pool GROUP BY q HAVING COUNT(*) > 1) twice",
			"SELECT 'a query of the pool is null', COUNT(*) FROM pool WHERE q IS NULL")
	}
	return "  " + strings.Join(lines, "\n  UNION ALL ")
}

// checks returns the query that lists what is wrong: no row if nothing is.
func (c count) checks() string {
	return fmt.Sprintf("%s, problems AS (\n%s\n)\nSELECT problem, n FROM problems WHERE n > 0 ORDER BY problem;", c.votes(), c.problems())
}

// counts returns the query that counts: a row for each query, in the order of the queries,
// and a column for each class. It fails where a check does, and then returns no count.
func (c count) counts() string {
	sums := make([]string, len(c.Classes))
	columns := make([]string, len(c.Classes))
	for i, v := range c.values() {
		sums[i] = fmt.Sprintf("SUM(CASE WHEN v = %s THEN 1 ELSE 0 END) AS c%d", v, i)
		columns[i] = fmt.Sprintf("c%d + verdict.ok AS c%d", i, i)
	}
	return fmt.Sprintf(`%s, problems AS (
%s
), verdict AS (
  SELECT CASE WHEN COUNT(*) = 0 THEN 0 ELSE %s END AS ok FROM problems WHERE n > 0
), counts AS (
  SELECT pool.q AS q, %s
  FROM pool LEFT JOIN cast_votes ON cast_votes.q = pool.q GROUP BY pool.q
)
SELECT %s
FROM counts CROSS JOIN verdict ORDER BY q`, c.votes(), c.problems(), c.raise("'pate: ' || MIN(problem)"), strings.Join(sums, ",\n    "), strings.Join(columns, ", "))
}

// numbers returns the query that says which query has which number in the counts.
func (c count) numbers() string {
	return c.votes() + "\nSELECT ROW_NUMBER() OVER (ORDER BY q) - 1 AS query, q FROM pool ORDER BY q;"
}

// script returns the whole page.
func (c count) script(file string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `-- Votes of %d teachers to counts, for %s. One teacher moves one vote on a query: that is
-- what the claim of pate label rests on, and what the first query checks. That teachers
-- saw disjoint parts of the private data no table of votes can show: pate help votes.

-- 1. What must not be. No row: all is well. Rows are as private as the votes.
%s

-- 2. The counts, %d columns, a row for each query; it fails where a check does.
%s
%s

-- 3. Which row is which query: 0 is the first line of the counts.
%s

-- 4. Labels of them:
--    pate label %s --counts --teachers %d %s --epsilon 2 --ledger run.jsonl --out labels.csv
`, c.Teachers, c.name, c.checks(), len(c.Classes), c.note(file), c.export(c.counts(), file), c.numbers(), c.result(file), c.Teachers, c.classFlag())
	return b.String()
}

// note says what the reader of the export must know.
func (c count) note(file string) string {
	var lines []string
	if c.how != "" {
		how := c.how
		if strings.Contains(how, "%s") {
			how = fmt.Sprintf(how, file)
		}
		lines = append(lines, "--    "+how)
	}
	if c.Pool == "" {
		lines = append(lines, "--    Queries on which nobody voted are not there, which a vote can change: name the table",
			"--    of all public queries with --pool-table, unless every teacher votes on all of them.")
	}
	return strings.Join(lines, "\n")
}

// result returns the file that the export leaves.
func (c count) result(file string) string {
	if c.name == "spark" {
		return "'" + file + "/part-*.csv'"
	}
	return file
}

func (c count) classFlag() string {
	if !c.Words {
		return fmt.Sprintf("--classes %d", len(c.Classes))
	}
	return "--class-names '" + strings.ReplaceAll(strings.Join(c.Classes, ","), "'", `'\''`) + "'"
}
