package main

import (
	"bufio"
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

type mutation struct {
	id   string   // group/name
	dir  string   // of the package, relative to the root of the module, with slashes
	in   string   // function, Type.Method, constant, variable or type
	edit []edit   // replacements in this declaration
	why  string   // what would go wrong
	test []string // arguments of go test: packages, and -run with a pattern
}

type edit struct {
	old string
	nth int // index among equal expressions, from 1; 0 if there is only one
	new string
}

//go:embed mutations/*.txt
var texts embed.FS

func all() ([]mutation, error) {
	entries, err := texts.ReadDir("mutations")
	if err != nil {
		return nil, err
	}
	var list []mutation
	for _, e := range entries {
		text, err := texts.ReadFile(path.Join("mutations", e.Name()))
		if err != nil {
			return nil, err
		}
		group, err := parse(strings.TrimSuffix(e.Name(), ".txt"), text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		list = append(list, group...)
	}
	return list, nil
}

var (
	head    = regexp.MustCompile(`^([\w-]+) \(([\w.]+)\): (.+)$`)
	ordinal = regexp.MustCompile(` #(\d+)$`)
)

func parse(group string, text []byte) ([]mutation, error) {
	var list []mutation
	var dir string
	var test []string
	number := 0
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		number++
		indented := strings.HasPrefix(line, "\t")
		named, ofTest := strings.CutPrefix(strings.TrimPrefix(line, "\t"), "test: ")
		folder, ofDir := strings.CutPrefix(line, "in: ")
		start := head.FindStringSubmatch(line)
		old, replacement, replaced := strings.Cut(strings.TrimSpace(line), " =>")
		switch {
		case strings.TrimSpace(line) == "", strings.HasPrefix(line, "#"):
		case ofDir:
			dir = folder
		case ofTest && !indented:
			test = strings.Fields(named)
		case start != nil:
			list = append(list, mutation{id: group + "/" + start[1], dir: dir, in: start[2], why: start[3], test: test})
		case ofTest && len(list) > 0:
			list[len(list)-1].test = strings.Fields(named)
		case indented && replaced && len(list) > 0:
			e := edit{old: old, new: strings.TrimSpace(replacement)}
			if n := ordinal.FindStringSubmatch(old); n != nil {
				e.old = strings.TrimSuffix(old, n[0])
				e.nth, _ = strconv.Atoi(n[1]) // 0 if it is not a number
			}
			m := &list[len(list)-1]
			m.edit = append(m.edit, e)
		default:
			return nil, fmt.Errorf("line %d is neither \"NAME (FUNCTION): WHY\" nor \"OLD => NEW\": %s", number, line)
		}
	}
	for _, m := range list {
		same := func(e edit) bool { return e.old == e.new }
		if m.dir == "" || m.test == nil || m.edit == nil || slices.ContainsFunc(m.edit, same) {
			return nil, fmt.Errorf("%s is not complete", m.id)
		}
	}
	return list, lines.Err()
}

func (m mutation) apply(root string) (file string, source []byte, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", m.id, err)
		}
	}()
	file, source, declared, base, err := m.declaration(root)
	if err != nil {
		return "", nil, err
	}
	places := make([]place, len(m.edit))
	for i, e := range m.edit {
		found := matches(source, declared, base, words([]byte(e.old)))
		if e.nth > len(found) || e.nth == 0 && len(found) != 1 {
			return "", nil, fmt.Errorf("%s in %s has %d expressions or statements %q: give all of one, or \"%s #2\" for the second",
				m.in, file, len(found), e.old, e.old)
		}
		places[i] = place{found[max(e.nth, 1)-1], e.new}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(b.from, a.from) }) // from the end
	for _, p := range places {
		source = slices.Concat(source[:p.from], []byte(p.text), source[p.to:])
	}
	return file, source, nil
}

type span struct{ from, to int }

type place struct {
	span
	text string
}

func matches(source []byte, declared ast.Node, base token.Pos, want []string) (found []span) {
	ast.Inspect(declared, func(n ast.Node) bool {
		if n == nil {
			return false
		}
		s := span{int(n.Pos() - base), int(n.End() - base)}
		if !slices.Contains(found, s) && slices.Equal(words(source[s.from:s.to]), want) {
			found = append(found, s)
		}
		return true
	})
	return found
}

func (m mutation) declaration(root string) (file string, source []byte, found ast.Node, base token.Pos, err error) {
	dir := filepath.Join(root, filepath.FromSlash(m.dir))
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", nil, nil, 0, err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", nil, nil, 0, err
		}
		_, last, method := strings.Cut(m.in, ".")
		if !method {
			last = m.in
		}
		if strings.HasSuffix(name, "_test.go") || !bytes.Contains(text, []byte(last)) {
			continue // skips parsing
		}
		if ok, err := build.Default.MatchFile(dir, filepath.Base(name)); err != nil || !ok {
			continue // for another system
		}
		files := token.NewFileSet()
		tree, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
		if err != nil {
			return "", nil, nil, 0, err
		}
		if d := declared(tree, m.in); d != nil {
			if found != nil {
				return "", nil, nil, 0, fmt.Errorf("%s is declared in %s and in %s", m.in, file, name)
			}
			file, source, found = path.Join(m.dir, filepath.Base(name)), text, d
			base = token.Pos(files.File(tree.Pos()).Base())
		}
	}
	if found == nil {
		return "", nil, nil, 0, fmt.Errorf("package %s does not declare %s", m.dir, m.in)
	}
	return file, source, found, base, nil
}

func declared(tree *ast.File, name string) ast.Node {
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			full := d.Name.Name
			if d.Recv != nil {
				receiver, _, _ := strings.Cut(types.ExprString(d.Recv.List[0].Type), "[") // of a generic type
				full = strings.TrimPrefix(receiver, "*") + "." + full
			}
			if full == name {
				return d
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.Name == name {
						return s
					}
				case *ast.ValueSpec:
					if slices.ContainsFunc(s.Names, func(n *ast.Ident) bool { return n.Name == name }) {
						return s
					}
				}
			}
		}
	}
	return nil
}

func words(text []byte) (list []string) {
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(text)), text, nil, 0)
	drop := func() {
		for n := len(list); n > 0 && (list[n-1] == ";" || list[n-1] == ","); n = len(list) {
			list = list[:n-1]
		}
	}
	for {
		_, t, word := s.Scan()
		switch t {
		case token.EOF:
			drop()
			return list
		case token.SEMICOLON:
			word = ";"
		case token.RPAREN, token.RBRACE, token.RBRACK:
			drop()
		}
		if word == "" {
			word = t.String()
		}
		list = append(list, word)
	}
}
