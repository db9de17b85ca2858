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

// votes returns the common beginning: votes, where a missing one is null.
func (c count) votes() string {
	vote := c.column(c.Vote)
	if !c.Words {
		vote = fmt.Sprintf("CASE WHEN %[1]s = -1 THEN NULL ELSE %[1]s END", vote)
	}
	return fmt.Sprintf(`WITH cast_votes AS (
  SELECT %s AS q, %s AS t, %s AS v FROM %s
)`, c.column(c.Query), c.column(c.Teacher), vote, c.table(c.Table))
}

// pool returns the public queries, of which there is a row in the counts for each.
func (c count) pool() string {
	if c.Pool != "" {
		return fmt.Sprintf("pool AS (\n  SELECT %s AS q FROM %s\n)", c.column(c.PoolQuery), c.table(c.Pool))
	}
	return "pool AS (\n  SELECT DISTINCT q FROM cast_votes WHERE q IS NOT NULL\n)"
}

// byQuery returns votes and pool with one row for each query that was voted on: how many
// votes it has, which of them are with a teacher and how many these teachers are, and a
// column for each class. Votes are grouped once, for counts and checks.
func (c count) byQuery() string {
	sums := make([]string, len(c.Classes))
	for i, v := range c.values() {
		sums[i] = fmt.Sprintf("COUNT(CASE WHEN v = %s THEN 1 END) AS c%d", v, i)
	}
	w := c.whoVoted()
	return fmt.Sprintf(`%s, %s, %sby_query AS %s(
  SELECT q, COUNT(*) AS n, COUNT(t) AS named, COUNT(v) AS present, %s AS known, %s AS different,
    %s
  FROM %s GROUP BY q
)`, c.votes(), c.pool(), w.before, c.materialized, w.known, w.different, strings.Join(sums, ",\n    "), w.from)
}

// who says how the different teachers of a query are counted.
type who struct{ before, known, different, from, all string }

// Teachers whose bits are in one number, and the most numbers that a query may have.
const (
	bitsEach = 62
	maxMasks = 16
)

// whoVoted returns how. COUNT(DISTINCT) keeps every vote until its query is complete. Where
// the database has them, bits say who has voted in a few bytes for each query.
func (c count) whoVoted() who {
	masks := (c.Teachers + bitsEach - 1) / bitsEach
	if !c.bits || masks > maxMasks {
		return who{known: "COUNT(t)", different: "COUNT(DISTINCT t)", from: "cast_votes", all: "SELECT COUNT(DISTINCT t) AS n FROM cast_votes"}
	}
	shifted, counted := make([]string, masks), make([]string, masks)
	for m := range masks {
		first, end := m*bitsEach, min(c.Teachers, (m+1)*bitsEach)
		shifted[m] = fmt.Sprintf("CASE WHEN i >= %[1]d AND i < %[2]d THEN CAST(1 AS BIGINT) << CAST(i - %[1]d AS BIGINT) ELSE 0 END AS m%[3]d", first, end, m)
		counted[m] = fmt.Sprintf("COALESCE(BIT_COUNT(BIT_OR(m%d)), 0)", m)
	}
	return who{
		before: fmt.Sprintf(`voters AS %s(
  SELECT t AS voter, i, %s
  FROM (SELECT t, ROW_NUMBER() OVER (ORDER BY t) - 1 AS i FROM (SELECT DISTINCT t FROM cast_votes WHERE t IS NOT NULL) named) numbered
), `, c.materialized, strings.Join(shifted, ",\n    ")),
		known:     fmt.Sprintf("COUNT(CASE WHEN i < %d THEN 1 END)", c.Teachers),
		different: strings.Join(counted, " + "),
		from:      "cast_votes LEFT JOIN voters ON voters.voter = cast_votes.t",
		all:       "SELECT COUNT(*) AS n FROM voters",
	}
}

// problems returns a query with a row for each thing that must not be, and how often it is.
func (c count) problems() string {
	columns := make([]string, len(c.Classes))
	for i := range columns {
		columns[i] = fmt.Sprintf("c%d", i)
	}
	lines := []string{
		"SELECT 'a teacher voted twice on one query' AS problem, SUM(known - different) AS n FROM by_query",
		fmt.Sprintf("SELECT 'there are more than %d teachers', CASE WHEN n > %[1]d THEN n ELSE 0 END FROM (%[2]s) voting", c.Teachers, c.whoVoted().all),
		fmt.Sprintf("SELECT 'a vote is for none of the classes', SUM(present - (%s)) FROM by_query", strings.Join(columns, " + ")),
		"SELECT 'a vote is without a query or a teacher', SUM(CASE WHEN q IS NULL THEN n ELSE n - named END) FROM by_query",
	}
	if c.Pool != "" {
		lines = append(lines,
			"SELECT 'a vote is on a query that is not in the pool', SUM(by_query.n) FROM by_query LEFT JOIN pool ON pool.q = by_query.q WHERE by_query.q IS NOT NULL AND pool.q IS NULL",
			"SELECT 'a query is twice in the pool', COUNT(*) FROM (SELECT q FROM pool GROUP BY q HAVING COUNT(*) > 1) twice",
			"SELECT 'a query of the pool is null', COUNT(*) FROM pool WHERE q IS NULL")
	}
	return "  " + strings.Join(lines, "\n  UNION ALL ")
}

// checks returns the query that lists what is wrong: no row if nothing is.
func (c count) checks() string {
	return fmt.Sprintf("%s, problems AS (\n%s\n)\nSELECT problem, n FROM problems WHERE n > 0 ORDER BY problem;", c.byQuery(), c.problems())
}

// counts returns the query that counts: a row for each query, in the order of the queries,
// and a column for each class. It fails where a check does, and then returns no count.
func (c count) counts() string {
	columns := make([]string, len(c.Classes))
	for i := range columns {
		columns[i] = fmt.Sprintf("COALESCE(c%d, 0) + verdict.ok AS c%d", i, i)
	}
	return fmt.Sprintf(`%s, problems AS (
%s
), verdict AS (
  SELECT CASE WHEN COUNT(*) = 0 THEN 0 ELSE %s END AS ok FROM problems WHERE n > 0
)
SELECT %s
FROM pool LEFT JOIN by_query ON by_query.q = pool.q CROSS JOIN verdict ORDER BY pool.q`, c.byQuery(), c.problems(), c.raise("'pate: ' || MIN(problem)"), strings.Join(columns, ", "))
}

// numbers returns the query that says which query has which number in the counts.
func (c count) numbers() string {
	return c.votes() + ", " + c.pool() + "\nSELECT ROW_NUMBER() OVER (ORDER BY q) - 1 AS query, q FROM pool ORDER BY q;"
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
