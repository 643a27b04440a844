package luascripts_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

func parseLua(t *testing.T, source string) []ast.Stmt {
	t.Helper()
	chunk, err := parse.Parse(strings.NewReader(source), "script")
	if err != nil {
		t.Fatal(err)
	}
	return chunk
}

// walk visits every node below n, n included.
func walk(n any, visit func(any)) { walkValue(reflect.ValueOf(n), visit) }

func walkValue(v reflect.Value, visit func(any)) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			walkValue(v.Elem(), visit)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			visit(v.Interface())
			walkValue(v.Elem(), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walkValue(v.Index(i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walkValue(v.Field(i), visit)
			}
		}
	}
}

func nameOf(e ast.Expr) string {
	if id, ok := e.(*ast.IdentExpr); ok {
		return id.Value
	}
	return ""
}

// calledName returns the name of the function that is called, "" for a method or
// a field.
func calledName(call *ast.FuncCallExpr) string { return nameOf(call.Func) }

// constant returns the text of a string or a number.
func constant(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StringExpr:
		return e.Value
	case *ast.NumberExpr:
		return e.Value
	}
	return ""
}

// redisCalls returns every redis.call.
func redisCalls(chunk []ast.Stmt) []*ast.FuncCallExpr {
	var out []*ast.FuncCallExpr
	walk(chunk, func(n any) {
		if call, ok := n.(*ast.FuncCallExpr); ok && commandOf(call) != "" {
			out = append(out, call)
		}
	})
	return out
}

// commandOf returns the command of a redis.call, "" for another function.
func commandOf(call *ast.FuncCallExpr) string {
	field, ok := call.Func.(*ast.AttrGetExpr)
	if !ok || nameOf(field.Object) != "redis" || constant(field.Key) != "call" || len(call.Args) == 0 {
		return ""
	}
	return constant(call.Args[0])
}

// isWrite tells whether a call writes, by itself or as one of the writers.
func isWrite(call *ast.FuncCallExpr) bool {
	for _, name := range writers {
		if calledName(call) == name {
			return true
		}
	}
	return commands[commandOf(call)].writes
}

// origins knows which names of a script only ever hold keys out of KEYS, and
// which hold tables of them. It goes by names alone: one binding to anything else
// spoils a name in the whole script, which errs on the strict side.
type origins struct {
	bindings  map[string][]ast.Expr // what each name is bound to; nil for an unknown value
	functions map[string]*ast.FunctionExpr
	keys      map[string]bool
	tables    map[string]bool
}

// trace finds the names that hold keys: it takes all for keys at first and drops
// those with another binding until nothing changes.
func trace(chunk []ast.Stmt) *origins {
	o := &origins{
		bindings: map[string][]ast.Expr{}, functions: map[string]*ast.FunctionExpr{},
		keys: map[string]bool{}, tables: map[string]bool{},
	}
	walk(chunk, o.bindFunctions)
	walk(chunk, o.bind)
	for name := range o.bindings {
		o.keys[name], o.tables[name] = true, true
	}
	for changed := true; changed; {
		changed = false
		for name, values := range o.bindings {
			for _, value := range values {
				if o.keys[name] && !o.isKey(value) {
					o.keys[name], changed = false, true
				}
				if o.tables[name] && !o.isTable(value) {
					o.tables[name], changed = false, true
				}
			}
		}
	}
	return o
}

func (o *origins) bindFunctions(n any) {
	if st, ok := n.(*ast.LocalAssignStmt); ok && len(st.Names) == 1 && len(st.Exprs) == 1 {
		if f, ok := st.Exprs[0].(*ast.FunctionExpr); ok {
			o.functions[st.Names[0]] = f
		}
	}
}

func (o *origins) bind(n any) {
	switch n := n.(type) {
	case *ast.LocalAssignStmt:
		for i, name := range n.Names {
			o.add(name, at(n.Exprs, i))
		}
	case *ast.AssignStmt:
		for i, left := range n.Lhs {
			o.add(nameOf(left), at(n.Rhs, i))
		}
	case *ast.NumberForStmt:
		o.add(n.Name, nil)
	case *ast.GenericForStmt:
		o.bindLoop(n)
	case *ast.FuncCallExpr:
		if f := o.functions[calledName(n)]; f != nil {
			for i, name := range f.ParList.Names {
				o.add(name, at(n.Args, i))
			}
		}
	}
}

// bindLoop binds the value of `for _, x in ipairs({a, b})`; other loops bind nothing known.
func (o *origins) bindLoop(n *ast.GenericForStmt) {
	if call, ok := n.Exprs[0].(*ast.FuncCallExpr); ok && calledName(call) == "ipairs" && len(n.Names) == 2 {
		if table, ok := call.Args[0].(*ast.TableExpr); ok {
			for _, field := range table.Fields {
				o.add(n.Names[1], field.Value)
			}
			return
		}
	}
	for _, name := range n.Names {
		o.add(name, nil)
	}
}

func (o *origins) add(name string, value ast.Expr) {
	if name != "" {
		o.bindings[name] = append(o.bindings[name], value)
	}
}

func at(list []ast.Expr, i int) ast.Expr {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// isKey tells whether an expression can only be an element of KEYS.
func (o *origins) isKey(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.IdentExpr:
		return o.keys[e.Value]
	case *ast.AttrGetExpr:
		return nameOf(e.Object) == "KEYS" || o.tables[nameOf(e.Object)]
	case *ast.FuncCallExpr:
		f := o.functions[calledName(e)]
		return f != nil && o.returnsKey(f)
	}
	return false
}

func (o *origins) returnsKey(f *ast.FunctionExpr) bool {
	found, all := false, true
	walk(f.Stmts, func(n any) {
		if st, ok := n.(*ast.ReturnStmt); ok {
			found = true
			all = all && len(st.Exprs) == 1 && o.isKey(st.Exprs[0])
		}
	})
	return found && all
}

// isTable tells whether an expression can only be a list of keys.
func (o *origins) isTable(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.IdentExpr:
		return o.tables[e.Value]
	case *ast.TableExpr:
		for _, field := range e.Fields {
			if field.Key != nil || !o.isKey(field.Value) {
				return false
			}
		}
		return len(e.Fields) > 0
	}
	return false
}
