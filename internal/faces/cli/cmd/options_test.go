package cmd

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tutti/internal/faces/cli/kit"
)

// reads is what the sources of verbs read: fields of option structs by the name of the struct.
type reads struct {
	fields map[string]map[string]bool
	whole  map[string]bool // structs that are copied
}

// readsIn finds the reads in the Go files that match, tests left out.
func readsIn(t *testing.T, pattern string) *reads {
	t.Helper()
	r := &reads{map[string]map[string]bool{}, map[string]bool{}}
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files, %v", pattern, err)
	}
	var parsed []*ast.File
	holders := map[string]string{} // the struct of options that a struct has as opt
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					if kind := optOf(s.Fields); kind != "" {
						holders[spec.Name.Name] = kind
					}
				}
			}
			return true
		})
	}
	for _, f := range parsed {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				r.function(fn, holders)
			}
		}
	}
	return r
}

// optOf is the type of the field or parameter opt, without package and star; "" where there is none.
func optOf(l *ast.FieldList) string {
	for _, f := range l.List {
		for _, name := range f.Names {
			if star, ok := f.Type.(*ast.StarExpr); ok && name.Name == "opt" {
				return typeName(star.X)
			}
		}
	}
	return ""
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.StarExpr:
		return typeName(e.X)
	}
	return ""
}

// function notes what a function reads: of opt, which it is given or its receiver has, and of its receiver.
func (r *reads) function(fn *ast.FuncDecl, holders map[string]string) {
	given, receiver, its, held := optOf(fn.Type.Params), "", "", ""
	if fn.Recv != nil && len(fn.Recv.List[0].Names) == 1 {
		receiver, its = fn.Recv.List[0].Names[0].Name, typeName(fn.Recv.List[0].Type)
		held = holders[its]
	}
	note := func(kind, field string) {
		if kind != "" && r.fields[kind] == nil {
			r.fields[kind] = map[string]bool{}
		}
		if kind != "" {
			r.fields[kind][field] = true
		}
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StarExpr:
			if id, ok := n.X.(*ast.Ident); ok && id.Name == "opt" {
				r.whole[given] = true
			}
		case *ast.SelectorExpr:
			switch x := n.X.(type) {
			case *ast.Ident:
				switch x.Name {
				case "opt":
					note(given, n.Sel.Name)
				case receiver:
					note(its, n.Sel.Name)
				}
			case *ast.SelectorExpr:
				if x.Sel.Name == "opt" {
					note(held, n.Sel.Name)
				}
			}
		}
		return true
	})
}

// has tells whether a field is read, of the struct or of the embedded one that declares it.
func (r *reads) has(kind reflect.Type, f reflect.StructField) bool {
	for at, path := kind, f.Index; ; {
		if r.whole[at.Name()] || r.fields[at.Name()][f.Name] {
			return true
		}
		if len(path) == 1 {
			return false
		}
		at, path = at.Field(path[0]).Type, path[1:]
	}
}

// TestFlagsAreRead: each flag of a verb is a field of the struct that it takes, each field is a flag of the verb, and each field is read.
func TestFlagsAreRead(t *testing.T) {
	t.Parallel()
	packages := map[string]*reads{"fast": readsIn(t, "../fast/*.go"), "docs": readsIn(t, "../docs/*.go"), "kit": readsIn(t, "../kit/*.go")}
	for _, name := range []string{"agree", "bus", "comms", "govern", "remote", "session", "setup", "status", "stop"} {
		packages[name] = readsIn(t, name+"/*.go")
	}
	global := map[string]bool{}
	for i := range kit.Globals {
		global[kit.Globals[i].Name] = true
	}
	for _, v := range verbs {
		if v.Opts == nil {
			if n := slices.IndexFunc(v.Flags, func(f kit.Flag) bool { return !global[f.Name] }); n >= 0 {
				t.Errorf("%s --%s: the verb takes no struct for it", v.Name, v.Flags[n].Name)
			}
			continue
		}
		fields := v.Opts.Fields()
		for i := range v.Flags {
			f := &v.Flags[i]
			want := f.Kind
			if want == kit.TrueSwitch {
				want = kit.Switch
			}
			if kind, ok := fields[f.Name]; ok && kind != want {
				t.Errorf("%s --%s: the field has another kind", v.Name, f.Name)
			} else if !ok && !global[f.Name] { // those are asked for once, for all verbs
				t.Errorf("%s --%s: is declared, and %s has no such field", v.Name, f.Name, v.Opts.Type())
			}
			delete(fields, f.Name)
		}
		for name := range fields {
			t.Errorf("%s --%s: %s has a field for it, and it is not declared", v.Name, name, v.Opts.Type())
		}
		kind := v.Opts.Type()
		r := packages[filepath.Base(kind.PkgPath())]
		for _, f := range reflect.VisibleFields(kind) {
			if r != nil && !f.Anonymous && !r.has(kind, f) && !readElsewhere(packages, kind, f) {
				t.Errorf("%s: the field %s of %s is not read", v.Name, f.Name, kind)
			}
		}
	}
}

// readElsewhere tells whether another package reads a field: that of a struct which the hot program and the full one share.
func readElsewhere(packages map[string]*reads, kind reflect.Type, f reflect.StructField) bool {
	for _, r := range packages {
		if r.has(kind, f) {
			return true
		}
	}
	return false
}
