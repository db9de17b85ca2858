package site

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/learn/page"
)

// TestCodeIsThatOfTheSource: the functions that the page shows are the real ones.
func TestCodeIsThatOfTheSource(t *testing.T) {
	var names []string
	for _, c := range page.Chapters() {
		names = append(names, c.Code...)
	}
	slices.Sort(names)
	var want bytes.Buffer
	for _, name := range slices.Compact(names) {
		fmt.Fprintf(&want, "== %s\n%s\n\n", name, source(t, name))
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile("code.txt", want.Bytes(), 0o644))
		return
	}
	require.Equal(t, want.String(), code, "run UPDATE_GOLDEN=1 go test ./internal/learn/site")
}

// source returns a function or method of the module, with its comment: path/of/package.Name or
// path/of/package.Type.Method.
func source(t *testing.T, name string) string {
	dir, function, _ := strings.Cut(name, ".")
	receiver, method, isMethod := strings.Cut(function, ".")
	if !isMethod {
		receiver, method = "", function
	}
	files, err := filepath.Glob(filepath.Join("..", "..", "..", filepath.FromSlash(dir), "*.go"))
	require.NoError(t, err)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == method && receiverOf(fn) == receiver {
				var b bytes.Buffer
				require.NoError(t, printer.Fprint(&b, set, &printer.CommentedNode{Node: fn, Comments: f.Comments}))
				return b.String()
			}
		}
	}
	require.FailNow(t, "no such function", name)
	return ""
}

func receiverOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if index, ok := typ.(*ast.IndexExpr); ok {
		typ = index.X
	}
	return typ.(*ast.Ident).Name
}
