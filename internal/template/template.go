// Package template fills texts and pages of the program with values. It accepts a subset of the syntax of
// text/template, without chained pipelines and without methods of values. With text/template, which calls
// methods by name, the linker would keep every exported method of the program.
//
//	t, err := template.HTML("page", "{{range .Rows}}<p>{{short .}}{{end}}", template.Funcs{"short": short})
//	text, err := t.Fill("page", values)
//
// If a text uses a struct field or map key that does not exist, Fill returns an error.
package template

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// Funcs holds functions by name. A function returns a value, or a value and an error.
type Funcs map[string]any

// Markup is text that templates do not escape.
type Markup string

// Template holds parsed texts by name.
type Template struct {
	trees  map[string]*parse.Tree
	funcs  Funcs
	escape *strings.Replacer
}

// Text parses text and its {{define}} blocks.
func Text(name, text string, funcs Funcs) (*Template, error) {
	t := &Template{map[string]*parse.Tree{}, builtins(), strings.NewReplacer()}
	maps.Copy(t.funcs, funcs)
	return t, t.Add(name, text)
}

// HTML is like [Text], but escapes values for HTML text and quoted attributes, not for scripts.
func HTML(name, text string, funcs Funcs) (*Template, error) {
	t, err := Text(name, text, funcs)
	t.escape = strings.NewReplacer("\x00", "\uFFFD", `"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;", "<", "&lt;", ">", "&gt;")
	return t, err
}

// Add parses another text. It replaces a text of the same name.
func (t *Template) Add(name, text string) error {
	trees, err := parse.Parse(name, text, "", "", t.funcs)
	maps.Copy(t.trees, trees)
	return err
}

// Fill returns the text of the given name, with values from data.
func (t *Template) Fill(name string, data any) (text string, err error) {
	s := &state{Template: t}
	defer func() {
		if wrong := recover(); wrong != nil {
			text, err = "", fmt.Errorf("template: %s: %v", name, wrong)
		}
	}()
	s.call(name, reflect.ValueOf(data))
	return s.out.String(), nil
}

type state struct {
	*Template
	out  strings.Builder
	vars map[string]reflect.Value
}

func fail(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }

func (s *state) call(name string, dot reflect.Value) {
	before := s.vars
	if s.vars = map[string]reflect.Value{"$": dot}; s.trees[name] == nil {
		fail("there is no text %q", name)
	}
	s.walk(dot, s.trees[name].Root)
	s.vars = before
}

func (s *state) walk(dot reflect.Value, node parse.Node) {
	switch n := node.(type) {
	case *parse.ListNode:
		for i := 0; n != nil && i < len(n.Nodes); i++ {
			s.walk(dot, n.Nodes[i])
		}
	case *parse.TextNode:
		s.out.Write(n.Text)
	case *parse.ActionNode:
		v := s.pipe(dot, n.Pipe)
		if len(n.Pipe.Decl) > 0 {
			s.vars[n.Pipe.Decl[0].Ident[0]] = v
		} else if text, is := inner(v).Interface().(Markup); is {
			s.out.WriteString(string(text))
		} else {
			s.out.WriteString(s.escape.Replace(fmt.Sprint(inner(v))))
		}
	case *parse.TemplateNode:
		s.call(n.Name, s.pipe(dot, n.Pipe))
	case *parse.IfNode:
		s.branch(dot, &n.BranchNode)
	case *parse.WithNode:
		s.branch(dot, &n.BranchNode)
	case *parse.RangeNode:
		s.branch(dot, &n.BranchNode)
	default:
		fail("%s is not supported", node)
	}
}

func (s *state) branch(dot reflect.Value, b *parse.BranchNode) {
	before, v := s.vars, s.pipe(dot, b.Pipe)
	s.vars = maps.Clone(before)
	switch {
	case !truth(v):
		s.walk(dot, b.ElseList)
	case b.NodeType == parse.NodeIf:
		s.walk(dot, b.List)
	case b.NodeType == parse.NodeWith:
		s.walk(v, b.List)
	default:
		list := inner(v)
		for i := range list.Len() {
			of := []reflect.Value{reflect.ValueOf(i), list.Index(i)}
			for k, d := range b.Pipe.Decl {
				s.vars[d.Ident[0]] = of[k+len(of)-len(b.Pipe.Decl)]
			}
			s.walk(of[1], b.List)
		}
	}
	s.vars = before
}

func (s *state) pipe(dot reflect.Value, p *parse.PipeNode) reflect.Value {
	args := p.Cmds[0].Args
	name, calls := args[0].(*parse.IdentifierNode)
	if len(p.Cmds) > 1 || len(args) > 1 && !calls {
		fail("%s is not supported", p)
	}
	if !calls {
		return s.value(dot, args[0])
	}
	var in []reflect.Value
	for _, a := range args[1:] {
		v := s.value(dot, a)
		if v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		in = append(in, v)
	}
	out := reflect.ValueOf(s.funcs[name.Ident]).Call(in)
	if len(out) == 2 && !out[1].IsNil() {
		panic(out[1].Interface())
	}
	return out[0]
}

func (s *state) value(dot reflect.Value, node parse.Node) reflect.Value {
	switch n := node.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return fields(dot, n.Ident)
	case *parse.VariableNode:
		return fields(s.vars[n.Ident[0]], n.Ident[1:])
	case *parse.ChainNode:
		return fields(s.value(dot, n.Node), n.Field)
	case *parse.PipeNode:
		return s.pipe(dot, n)
	case *parse.StringNode:
		return reflect.ValueOf(n.Text)
	case *parse.NumberNode:
		return reflect.ValueOf(int(n.Int64))
	}
	fail("%s is not supported", node)
	return dot
}

func fields(v reflect.Value, names []string) reflect.Value {
	for _, name := range names {
		if v = inner(v); v.Kind() == reflect.Map {
			v = v.MapIndex(reflect.ValueOf(name))
		} else {
			v = v.FieldByName(name)
		}
		if !v.IsValid() {
			fail("there is no value .%s", name)
		}
	}
	return v
}

func inner(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

func truth(v reflect.Value) bool {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
		return v.Len() > 0
	}
	return v.Kind() == reflect.Struct || v.IsValid() && !v.IsZero()
}

func builtins() Funcs {
	return Funcs{
		"eq": func(a any, of ...any) bool {
			return slices.ContainsFunc(of, func(b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
		},
		"gt":    func(a, b int) bool { return a > b },
		"not":   func(a any) bool { return !truth(reflect.ValueOf(a)) },
		"index": func(list any, i int) any { return reflect.ValueOf(list).Index(i).Interface() },
		"len":   func(list any) int { return reflect.ValueOf(list).Len() },
		"print": fmt.Sprint, "printf": fmt.Sprintf,
	}
}
