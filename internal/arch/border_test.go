package arch_test

import (
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var private = regexp.MustCompile(`(^|/)(internal|cmd|examples|experiments)(/|$)`)

func listed(t *testing.T, format string, args ...string) map[string]string {
	args = append([]string{"list", "-f", "{{.ImportPath}} " + format}, args...)
	out, err := exec.Command("go", append(args, module+"...")...).Output()
	require.NoError(t, err)
	list := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		list[path] = text
	}
	return list
}

// TestWhoMayCompare: the comparison of methods is for research. Of the commands only compare
// is built on it, and no library is.
func TestWhoMayCompare(t *testing.T) {
	allowed := map[string]bool{
		"cmd/pate/internal/compare": true,
		"cmd/pate/internal/dpsgd":   true, // to be taken off
	}
	for path, imports := range listed(t, `{{join .Imports " "}}`) {
		importer, _ := local(path)
		if strings.HasPrefix(importer, "experiments") || allowed[importer] {
			continue
		}
		for _, imported := range strings.Fields(imports) {
			ours, _ := local(imported)
			require.False(t, ours == "experiments" || strings.HasPrefix(ours, "experiments/"), "%s imports %s", importer, ours)
		}
	}
}

// TestPublicSignaturesShowNoInternalType: whoever uses a public package can name every type that
// its functions, methods, fields, constants and variables have.
func TestPublicSignaturesShowNoInternalType(t *testing.T) {
	exports := listed(t, "{{.Export}}", "-export", "-deps")
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	from := importer.ForCompiler(token.NewFileSet(), "gc", open)
	public := 0
	for path := range listed(t, "{{.Name}}") {
		if ours, ok := local(path); !ok || private.MatchString(ours) {
			continue
		}
		public++
		pkg, err := from.Import(path)
		require.NoError(t, err)
		for _, name := range pkg.Scope().Names() {
			if o := pkg.Scope().Lookup(name); o.Exported() {
				for _, shown := range shownBy(o) {
					require.NotContains(t, shown, "/internal/", "%s.%s", path, name)
				}
			}
		}
	}
	require.LessOrEqual(t, public, 26, "public packages")
	require.Greater(t, public, 10, "the list of packages is suspiciously short")
}

func shownBy(o types.Object) (shown []string) {
	var walk func(types.Type)
	signature := func(f *types.Signature) {
		for i := range f.TypeParams().Len() {
			walk(f.TypeParams().At(i).Constraint())
		}
		walk(f.Params())
		walk(f.Results())
	}
	walk = func(t types.Type) {
		switch t := t.(type) {
		case *types.Named:
			if p := t.Obj().Pkg(); p != nil && strings.HasPrefix(p.Path(), module) {
				shown = append(shown, p.Path()+"."+t.Obj().Name())
			}
			for i := range t.TypeArgs().Len() {
				walk(t.TypeArgs().At(i))
			}
		case *types.Alias:
			if p := t.Obj().Pkg(); p != nil && strings.HasPrefix(p.Path(), module) {
				shown = append(shown, p.Path()+"."+t.Obj().Name())
			}
			walk(t.Rhs())
		case *types.Signature:
			signature(t)
		case *types.Tuple:
			for i := range t.Len() {
				walk(t.At(i).Type())
			}
		case *types.Struct:
			for i := range t.NumFields() {
				if t.Field(i).Exported() {
					walk(t.Field(i).Type())
				}
			}
		case *types.Interface:
			for i := range t.NumEmbeddeds() {
				walk(t.EmbeddedType(i))
			}
			for i := range t.NumExplicitMethods() {
				walk(t.ExplicitMethod(i).Type())
			}
		case *types.Union:
			for i := range t.Len() {
				walk(t.Term(i).Type())
			}
		case *types.Map:
			walk(t.Key())
			walk(t.Elem())
		case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
			walk(t.Elem())
		}
	}
	walk(o.Type())
	if t, ok := o.(*types.TypeName); ok {
		walk(t.Type().Underlying())
		methods := types.NewMethodSet(types.NewPointer(t.Type()))
		for i := range methods.Len() {
			if m := methods.At(i); m.Obj().Exported() {
				walk(m.Type())
			}
		}
	}
	return shown
}
