package site

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/learn/page"
	"github.com/pate-go/pate/internal/testkit"
)

func TestPagesAreAlone(t *testing.T) {
	program := Program{Packed: []byte("a program"), Glue: []byte("// glue")}
	file := testkit.Must(File(program))
	dir := t.TempDir()
	require.NoError(t, WriteFolder(dir, program))
	script := testkit.Must(os.ReadFile(filepath.Join(dir, "course.js")))
	served := testkit.Must(Served())
	for _, holds := range [][]byte{file, script} {
		require.Contains(t, string(holds), "// glue")
		require.Contains(t, string(holds), base64.StdEncoding.EncodeToString(program.Packed))
	}
	chapter := testkit.Must(os.ReadFile(filepath.Join(dir, "noisy-argmax.html")))
	require.Contains(t, string(chapter), "<svg")
	require.Contains(t, string(chapter), `<script src="course.js">`)
	for _, page := range [][]byte{file, served} {
		require.Contains(t, string(page), "Noisy argmax")
		require.NotContains(t, string(page), "src=")
	}
	for _, page := range [][]byte{file, served, chapter} {
		for _, outside := range []string{"http:", "https:", "//cdn", "@import"} {
			require.NotContains(t, string(page), outside)
		}
	}
}

func TestServed(t *testing.T) {
	h := testkit.Must(Handler("127.0.0.1:1"))
	ask := func(method, path, host, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Host = host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	w := ask("GET", "/", "127.0.0.1:1", "")
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'")
	require.Contains(t, w.Body.String(), "Noisy argmax")
	require.Contains(t, w.Body.String(), "<noscript><style>.knobs,", "what only JavaScript turns is not shown without it")
	w = ask("POST", "/call", "127.0.0.1:1", `{"ask":"draw","chapter":"noisy-argmax","situation":{"noise":"20"}}`)
	require.Contains(t, w.Body.String(), `"charge of one answer"`)
	require.Equal(t, http.StatusForbidden, ask("GET", "/", "pate.example", "").Code, "a name that points here")
	require.Equal(t, http.StatusNotFound, ask("GET", "/other", "127.0.0.1:1", "").Code)
	require.Equal(t, http.StatusMethodNotAllowed, ask("GET", "/call", "127.0.0.1:1", "").Code)
	require.Equal(t, http.StatusRequestEntityTooLarge, ask("POST", "/call", "127.0.0.1:1", strings.Repeat("x", maxRequest+1)).Code)
	w = ask("POST", "/call", "127.0.0.1:1", `{"ask":"draw","chapter":"noisy-argmax","situation":{"noise":"NaN"}}`)
	require.Contains(t, w.Body.String(), `"error"`)
}

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
	for _, path := range testkit.Must(filepath.Glob(filepath.Join("..", "..", "..", filepath.FromSlash(dir), "*.go"))) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f := testkit.Must(parser.ParseFile(set, path, nil, parser.ParseComments))
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
