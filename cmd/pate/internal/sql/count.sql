{{- /* Votes to counts. Every part begins with the votes, where a missing one is null. */ -}}

{{define "votes"}}WITH cast_votes AS (
  SELECT {{column .Query}} AS q, {{column .Teacher}} AS t, {{if .Words}}{{column .Vote}}{{else}}CASE WHEN {{column .Vote}} = -1 THEN NULL ELSE {{column .Vote}} END{{end}} AS v FROM {{table .Table}}
), pool AS (
  {{if .Pool}}SELECT {{column .PoolQuery}} AS q FROM {{table .Pool}}{{else}}SELECT DISTINCT q FROM cast_votes WHERE q IS NOT NULL{{end}}
){{end}}

{{- /* A row for each query that was voted on: how many votes it has, which of them are with a
teacher and how many these teachers are, and a column for each class. COUNT(DISTINCT) keeps
every vote until its query is complete; where the database has them, bits are a few bytes for
each query. */ -}}
{{define "byQuery"}}{{template "votes" .}}, {{if .Masks}}voters AS {{.Materialized}}(
  SELECT t AS voter, i, {{range $m, $k := .Masks}}{{if $m}},
    {{end}}CASE WHEN i >= {{$k.First}} AND i < {{$k.End}} THEN CAST(1 AS BIGINT) << CAST(i - {{$k.First}} AS BIGINT) ELSE 0 END AS m{{$m}}{{end}}
  FROM (SELECT t, ROW_NUMBER() OVER (ORDER BY t) - 1 AS i FROM (SELECT DISTINCT t FROM cast_votes WHERE t IS NOT NULL) named) numbered
), {{end}}by_query AS {{.Materialized}}(
  SELECT q, COUNT(*) AS n, COUNT(t) AS named, COUNT(v) AS present, {{if .Masks}}COUNT(CASE WHEN i < {{.Teachers}} THEN 1 END){{else}}COUNT(t){{end}} AS known, {{if .Masks}}{{range $m, $k := .Masks}}{{if $m}} + {{end}}COALESCE(BIT_COUNT(BIT_OR(m{{$m}})), 0){{end}}{{else}}COUNT(DISTINCT t){{end}} AS different,
    {{range $i, $v := .Values}}{{if $i}},
    {{end}}COUNT(CASE WHEN v = {{$v}} THEN 1 END) AS c{{$i}}{{end}}
  FROM {{if .Masks}}cast_votes LEFT JOIN voters ON voters.voter = cast_votes.t{{else}}cast_votes{{end}} GROUP BY q
){{end}}

{{- /* A row for each thing that must not be, and how often it is. */ -}}
{{define "problems"}}{{template "byQuery" .}}, problems AS (
  SELECT 'a teacher voted twice on one query' AS problem, SUM(known - different) AS n FROM by_query
  UNION ALL SELECT 'there are more than {{.Teachers}} teachers', CASE WHEN n > {{.Teachers}} THEN n ELSE 0 END FROM ({{if .Masks}}SELECT COUNT(*) AS n FROM voters{{else}}SELECT COUNT(DISTINCT t) AS n FROM cast_votes{{end}}) voting
  UNION ALL SELECT 'a vote is for none of the classes', SUM(present - ({{range $i, $v := .Values}}{{if $i}} + {{end}}c{{$i}}{{end}})) FROM by_query
  UNION ALL SELECT 'a vote is without a query or a teacher', SUM(CASE WHEN q IS NULL THEN n ELSE n - named END) FROM by_query
{{- if .Pool}}
  UNION ALL SELECT 'a vote is on a query that is not in the pool', SUM(by_query.n) FROM by_query LEFT JOIN pool ON pool.q = by_query.q WHERE by_query.q IS NOT NULL AND pool.q IS NULL
  UNION ALL SELECT 'a query is twice in the pool', COUNT(*) FROM (SELECT q FROM pool GROUP BY q HAVING COUNT(*) > 1) twice
  UNION ALL SELECT 'a query of the pool is null', COUNT(*) FROM pool WHERE q IS NULL
{{- end}}
){{end}}

{{- /* What is wrong: no row if nothing is. */ -}}
{{define "checks"}}{{template "problems" .}}
SELECT problem, n FROM problems WHERE n > 0 ORDER BY problem;{{end}}

{{- /* A row for each query, in the order of the queries, and a column for each class. It fails
where a check does, and then returns no count. The text of the failure depends on a row: a
constant would be evaluated, and fail, before any row is read. */ -}}
{{define "select"}}{{template "problems" .}}, verdict AS (
  SELECT CASE WHEN COUNT(*) = 0 THEN 0 ELSE {{.Raise}}'pate: ' || MIN(problem){{.RaiseEnd}} END AS ok FROM problems WHERE n > 0
)
SELECT {{range $i, $v := .Values}}{{if $i}}, {{end}}COALESCE(c{{$i}}, 0) + verdict.ok AS c{{$i}}{{end}}
FROM pool LEFT JOIN by_query ON by_query.q = pool.q CROSS JOIN verdict ORDER BY pool.q{{end}}

{{define "counts"}}{{template "select" .}};{{end}}

{{- /* What writes the counts as CSV without a header, in order. */ -}}
{{define "export"}}
{{- if eq .Dialect "duckdb"}}COPY (
{{template "select" .}}
) TO '{{.File}}' (FORMAT csv, HEADER false);
{{- else if eq .Dialect "postgres"}}COPY (
{{template "select" .}}
) TO STDOUT WITH (FORMAT csv);
{{- else if eq .Dialect "spark"}}INSERT OVERWRITE LOCAL DIRECTORY '{{.File}}' USING csv
SELECT /*+ COALESCE(1) */ * FROM (
{{template "select" .}}
);
{{- else if eq .Dialect "bigquery"}}EXPORT DATA OPTIONS(uri='gs://BUCKET/*-{{.File}}', format='CSV', header=false, overwrite=true) AS
{{template "select" .}};
{{- else}}COPY INTO @~/{{.File}} FROM (
{{template "select" .}}
) FILE_FORMAT=(TYPE=CSV COMPRESSION=NONE) SINGLE=TRUE OVERWRITE=TRUE;
{{- end}}{{end}}

{{- /* Which query has which number in the counts. */ -}}
{{define "numbers"}}{{template "votes" .}}
SELECT ROW_NUMBER() OVER (ORDER BY q) - 1 AS query, q FROM pool ORDER BY q;{{end}}

{{- define "note"}}
{{- if eq .Dialect "postgres"}}--    psql -qAt -v ON_ERROR_STOP=1 -f THIS.sql > {{.File}}
{{- else if eq .Dialect "spark"}}--    one file, {{.File}}/part-*.csv
{{- else if eq .Dialect "bigquery"}}--    put your bucket in place of BUCKET; an ordered export is one file
{{- else if eq .Dialect "snowflake"}}--    then GET @~/{{.File}} file://.
{{- end}}
{{- if not .Pool}}{{if not (eq .Dialect "duckdb")}}
{{end}}--    Queries on which nobody voted are not there, which a vote can change: name the table
--    of all public queries with --pool-table, unless every teacher votes on all of them.
{{- end}}{{end}}

{{define "all"}}-- Votes of {{.Teachers}} teachers to counts, for {{.Dialect}}. One teacher moves one vote on a query: that is
-- what the claim of pate label rests on, and what the first query checks. That teachers
-- saw disjoint parts of the private data no table of votes can show: pate help votes.

-- 1. What must not be. No row: all is well. Rows are as private as the votes.
{{template "checks" .}}

-- 2. The counts, {{len .Values}} columns, a row for each query; it fails where a check does.
{{template "note" .}}
{{template "export" .}}

-- 3. Which row is which query: 0 is the first line of the counts.
{{template "numbers" .}}

-- 4. Labels of them:
--    pate label {{if eq .Dialect "spark"}}'{{.File}}/part-*.csv'{{else}}{{.File}}{{end}} --counts --teachers {{.Teachers}} {{.ClassFlag}} --epsilon 2 --ledger run.jsonl --out labels.csv{{end}}
