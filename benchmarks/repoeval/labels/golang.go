// Call labels of a Go checkout, from the compiler's own type checker.
//
// usage: go run golang.go ROOT < paths
//
// Reads the paths of the Go files (relative to ROOT, one a line) from standard input and writes JSON lines as
// typescript.mjs does. Packages of the checkout's modules are checked from source, the standard library too. Every other
// import is a stub with the names that the checkout takes from it, and type errors are ignored.
package main

import (
	"bufio"
	"encoding/json"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

const headLines = 20

type definition struct {
	Path     string   `json:"path"`
	Qualname string   `json:"qualname"`
	Spans    [][2]int `json:"spans"`
}

type definitionLine struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	definition
}

type callLine struct {
	Kind    string      `json:"kind"`
	Path    string      `json:"path"`
	Line    int         `json:"line"`
	EndLine int         `json:"end_line"`
	Column  int         `json:"column"`
	Name    string      `json:"name"`
	How     *string     `json:"how"`
	Callee  *definition `json:"callee"`
}

type standardLine struct {
	Kind  string   `json:"kind"`
	Names []string `json:"names"`
}

// A directory's files of one package name, test files of the package included.
type unit struct {
	folder string
	name   string
	files  []*ast.File // those that this platform builds come first
}

type checkout struct {
	root        string
	fset        *token.FileSet
	modules     map[string]string // module path -> folder relative to the root
	units       map[string][]*unit
	isTest      map[*ast.File]bool
	definitions map[token.Pos]*definition
	origins     map[token.Pos]ast.Expr            // by name: the type or value of a variable, the result type of a function
	imports     map[*token.File]map[string]string // import paths by local name
	selected    map[string]map[string]use         // by import path: the names that the checkout takes from it
	imported    map[string]*types.Package
	standard    types.Importer
}

// How a name of a package is used; the greatest use of a name decides its stub.
type use int

const (
	asValue use = iota
	asFunction
	asType
	asStruct
)

func main() {
	root, err := filepath.Abs(os.Args[1])
	if err != nil {
		panic(err)
	}
	build.Default.CgoEnabled = false
	fset := token.NewFileSet()
	c := &checkout{
		root: root, fset: fset, modules: map[string]string{}, units: map[string][]*unit{}, isTest: map[*ast.File]bool{},
		definitions: map[token.Pos]*definition{}, origins: map[token.Pos]ast.Expr{},
		imports: map[*token.File]map[string]string{}, selected: map[string]map[string]use{}, imported: map[string]*types.Package{},
		standard: importer.ForCompiler(fset, "source", nil),
	}
	c.readModules()
	writer := bufio.NewWriterSize(os.Stdout, 1<<20)
	out := json.NewEncoder(writer)
	out.SetEscapeHTML(false)
	defer writer.Flush()
	encode := func(value any) {
		if err := out.Encode(value); err != nil {
			panic(err)
		}
	}
	encode(standardLine{"standard", standardNames()})
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		if name := strings.TrimSpace(input.Text()); name != "" {
			for _, found := range c.readFile(name) {
				encode(found)
			}
		}
	}
	folders := make([]string, 0, len(c.units))
	for folder := range c.units {
		folders = append(folders, folder)
	}
	sort.Strings(folders)
	for _, folder := range folders {
		for _, each := range c.units[folder] {
			for _, call := range c.calls(each) {
				encode(call)
			}
		}
	}
}

var moduleDirective = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)"?`)
var localReplacement = regexp.MustCompile(`(?m)^\s*(?:replace\s+)?(\S+)(?:\s+v\S+)?\s+=>\s+(\.{1,2}/\S*)`)

func (c *checkout) readModules() {
	replaced := map[string]string{}
	_ = filepath.WalkDir(c.root, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.Name() != "go.mod" || entry.IsDir() {
			return nil
		}
		text, err := os.ReadFile(name)
		folder, _ := filepath.Rel(c.root, filepath.Dir(name))
		folder = filepath.ToSlash(folder)
		if found := moduleDirective.FindSubmatch(text); err == nil && found != nil {
			c.modules[string(found[1])] = folder
		}
		for _, found := range localReplacement.FindAllSubmatch(text, -1) {
			replaced[string(found[1])] = path.Join(folder, string(found[2]))
		}
		return nil
	})
	for name, folder := range replaced {
		if _, known := c.modules[name]; !known {
			c.modules[name] = folder
		}
	}
}

func (c *checkout) readFile(name string) []definitionLine {
	full := filepath.Join(c.root, filepath.FromSlash(name))
	file, _ := parser.ParseFile(c.fset, full, nil, parser.SkipObjectResolution)
	if file == nil || file.Name == nil || file.Name.Name == "" {
		return nil
	}
	folder := path.Dir(name)
	c.isTest[file] = strings.HasSuffix(name, "_test.go")
	var of *unit
	for _, each := range c.units[folder] {
		if each.name == file.Name.Name {
			of = each
		}
	}
	if of == nil {
		of = &unit{folder: folder, name: file.Name.Name}
		c.units[folder] = append(c.units[folder], of)
	}
	// Of several definitions of a name, as for several platforms, the first one counts.
	if matches, err := build.Default.MatchFile(filepath.Dir(full), filepath.Base(full)); err == nil && matches {
		at := 0
		for at < len(of.files) && c.matches(of.files[at]) {
			at++
		}
		of.files = append(of.files[:at], append([]*ast.File{file}, of.files[at:]...)...)
	} else {
		of.files = append(of.files, file)
	}
	c.readImports(file)
	c.readOrigins(file)
	return c.readDefinitions(name, file)
}

func (c *checkout) readImports(file *ast.File) {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		name := strings.Trim(spec.Path.Value, "\"`")
		local := packageName(name)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		imports[local] = name
	}
	c.imports[c.fset.File(file.Package)] = imports
	mark := func(node ast.Expr, as use) {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if name, ok := selector.X.(*ast.Ident); ok && imports[name.Name] != "" {
				names := c.selected[imports[name.Name]]
				if names == nil {
					names = map[string]use{}
					c.selected[imports[name.Name]] = names
				}
				if names[selector.Sel.Name] <= as {
					names[selector.Sel.Name] = as
				}
			}
		}
	}
	var markType func(node ast.Expr)
	markType = func(node ast.Expr) {
		mark(node, asType)
		if inner, ok := node.(*ast.StarExpr); ok {
			markType(inner.X)
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.Field:
			markType(node.Type)
		case *ast.ValueSpec:
			markType(node.Type)
		case *ast.TypeSpec:
			markType(node.Type)
		case *ast.TypeAssertExpr:
			markType(node.Type)
		case *ast.ArrayType:
			markType(node.Elt)
		case *ast.MapType:
			markType(node.Key)
			markType(node.Value)
		case *ast.ChanType:
			markType(node.Value)
		case *ast.Ellipsis:
			markType(node.Elt)
		case *ast.TypeSwitchStmt:
			for _, clause := range node.Body.List {
				for _, each := range clause.(*ast.CaseClause).List {
					markType(each)
				}
			}
		case *ast.CompositeLit:
			mark(node.Type, asStruct)
		case *ast.CallExpr:
			mark(node.Fun, asFunction)
			if name, ok := node.Fun.(*ast.Ident); ok && (name.Name == "new" || name.Name == "make") {
				markType(node.Args[0])
			}
		case *ast.SelectorExpr:
			mark(node, asValue)
		}
		return true
	})
}

func (c *checkout) readOrigins(file *ast.File) {
	add := func(left ast.Expr, origin ast.Expr) {
		if ident, ok := left.(*ast.Ident); ok && origin != nil {
			c.origins[ident.Pos()] = origin
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncDecl:
			if results := node.Type.Results; results != nil && len(results.List) > 0 {
				add(node.Name, results.List[0].Type)
			}
		case *ast.Field:
			for _, name := range node.Names {
				add(name, node.Type)
			}
		case *ast.ValueSpec:
			for index, name := range node.Names {
				if node.Type != nil {
					add(name, node.Type)
				} else if len(node.Values) > 0 {
					add(name, node.Values[index%len(node.Values)])
				}
			}
		case *ast.AssignStmt:
			for index, name := range node.Lhs {
				if node.Tok == token.DEFINE {
					add(name, node.Rhs[index%len(node.Rhs)])
				}
			}
		case *ast.RangeStmt:
			for _, name := range []ast.Expr{node.Key, node.Value} {
				if name != nil {
					add(name, node.X)
				}
			}
		}
		return true
	})
}

func (c *checkout) matches(file *ast.File) bool {
	full := c.fset.File(file.Package).Name()
	matches, err := build.Default.MatchFile(filepath.Dir(full), filepath.Base(full))
	return err == nil && matches
}

func (c *checkout) readDefinitions(name string, file *ast.File) []definitionLine {
	var lines []definitionLine
	add := func(ident *ast.Ident, owner string, node ast.Node, counts bool) {
		start := c.line(node.Pos())
		end := c.line(node.End()) + 1
		if end > start+headLines {
			end = start + headLines
		}
		qualname := ident.Name
		if owner != "" {
			qualname = owner + "." + ident.Name
		}
		found := &definition{name, qualname, [][2]int{{start, end}}}
		c.definitions[ident.Pos()] = found
		if counts && ident.Name != "_" {
			lines = append(lines, definitionLine{"definition", ident.Name, *found})
		}
	}
	for _, declared := range file.Decls {
		switch declared := declared.(type) {
		case *ast.FuncDecl:
			// The documentation comment is no part of the definition.
			body := &ast.FuncDecl{Recv: declared.Recv, Name: declared.Name, Type: declared.Type, Body: declared.Body}
			add(declared.Name, receiverName(declared), body, true)
		case *ast.GenDecl:
			for _, spec := range declared.Specs {
				var node ast.Node = spec
				if !declared.Lparen.IsValid() {
					node = declared
				}
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name, "", node, true)
					ast.Inspect(spec.Type, func(inner ast.Node) bool {
						switch inner := inner.(type) {
						case *ast.InterfaceType:
							c.addFields(inner.Methods, spec.Name.Name, add)
						case *ast.StructType:
							c.addFields(inner.Fields, spec.Name.Name, add)
						}
						return true
					})
				case *ast.ValueSpec:
					for _, ident := range spec.Names {
						add(ident, "", node, false)
					}
				}
			}
		}
	}
	return lines
}

func (c *checkout) addFields(fields *ast.FieldList, owner string, add func(*ast.Ident, string, ast.Node, bool)) {
	if fields == nil {
		return
	}
	for _, field := range fields.List {
		_, isFunction := field.Type.(*ast.FuncType)
		for _, ident := range field.Names {
			add(ident, owner, field, isFunction)
		}
	}
}

func receiverName(declared *ast.FuncDecl) string {
	if declared.Recv == nil || len(declared.Recv.List) == 0 {
		return ""
	}
	of := declared.Recv.List[0].Type
	for {
		switch inner := of.(type) {
		case *ast.StarExpr:
			of = inner.X
		case *ast.ParenExpr:
			of = inner.X
		case *ast.IndexExpr:
			of = inner.X
		case *ast.IndexListExpr:
			of = inner.X
		case *ast.Ident:
			return inner.Name
		default:
			return ""
		}
	}
}

// Import gives the checked package of an import path, without its tests and without function bodies.
func (c *checkout) Import(name string) (*types.Package, error) {
	if found, known := c.imported[name]; known {
		if found == nil {
			return c.stub(name), nil
		}
		return found, nil
	}
	c.imported[name] = nil // what an import cycle finds
	var found *types.Package
	if folder, ok := c.folderOf(name); ok {
		if of := c.importable(folder); of != nil {
			var files []*ast.File
			for _, file := range of.files {
				if !c.isTest[file] {
					files = append(files, file)
				}
			}
			settings := types.Config{Importer: c, IgnoreFuncBodies: true, FakeImportC: true, Error: func(error) {}}
			found, _ = settings.Check(name, c.fset, files, nil)
		}
	} else if !strings.Contains(strings.Split(name, "/")[0], ".") {
		found, _ = c.standard.Import(name)
	}
	if found == nil {
		found = c.stub(name)
	}
	c.imported[name] = found
	return found, nil
}

// A package whose files are not at hand. A type is an interface without methods, or a struct without fields where a
// literal of it is written, so that code around its values is checked. A function has one result.
func (c *checkout) stub(name string) *types.Package {
	found := types.NewPackage(name, packageName(name))
	anything := types.NewInterfaceType(nil, nil)
	value := types.NewNamed(types.NewTypeName(token.NoPos, found, "value", nil), anything, nil)
	arguments := types.NewTuple(types.NewVar(token.NoPos, found, "", types.NewSlice(anything)))
	results := types.NewTuple(types.NewVar(token.NoPos, found, "", value))
	function := types.NewSignatureType(nil, nil, nil, arguments, results, true)
	for each, as := range c.selected[name] {
		switch as {
		case asType:
			types.NewNamed(insertedType(found, each), anything, nil)
		case asStruct:
			types.NewNamed(insertedType(found, each), types.NewStruct(nil, nil), nil)
		case asFunction:
			found.Scope().Insert(types.NewFunc(token.NoPos, found, each, function))
		default:
			found.Scope().Insert(types.NewVar(token.NoPos, found, each, value))
		}
	}
	found.MarkComplete()
	return found
}

func insertedType(of *types.Package, name string) *types.TypeName {
	found := types.NewTypeName(token.NoPos, of, name, nil)
	of.Scope().Insert(found)
	return found
}

var majorVersion = regexp.MustCompile(`^v\d+$`)

// The probable name of a package whose files are not at hand.
func packageName(importPath string) string {
	parts := strings.Split(importPath, "/")
	last := parts[len(parts)-1]
	if majorVersion.MatchString(last) && len(parts) > 1 {
		last = parts[len(parts)-2]
	}
	last = strings.TrimSuffix(strings.TrimPrefix(strings.SplitN(last, ".v", 2)[0], "go-"), "-go")
	return strings.ReplaceAll(last, "-", "")
}

func (c *checkout) folderOf(name string) (string, bool) {
	for prefix := name; prefix != "." && prefix != "/"; prefix = path.Dir(prefix) {
		if folder, ok := c.modules[prefix]; ok {
			return path.Join(folder, strings.TrimPrefix(name, prefix)), true
		}
	}
	return "", false
}

// The package of a folder that others import: the one with the most files that are no tests.
func (c *checkout) importable(folder string) *unit {
	var best *unit
	most := 0
	for _, each := range c.units[folder] {
		n := 0
		for _, file := range each.files {
			if !c.isTest[file] && c.matches(file) {
				n++
			}
		}
		if n > most {
			best, most = each, n
		}
	}
	return best
}

func (c *checkout) calls(of *unit) []callLine {
	info := &types.Info{
		Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{},
	}
	settings := types.Config{Importer: c, FakeImportC: true, Error: func(error) {}}
	_, _ = settings.Check(c.importPath(of.folder), c.fset, of.files, info)
	var lines []callLine
	for _, file := range of.files {
		ast.Inspect(file, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok {
				if line := c.label(call, info); line != nil {
					lines = append(lines, *line)
				}
			}
			return true
		})
	}
	return lines
}

func (c *checkout) importPath(folder string) string {
	for prefix := folder; ; prefix = path.Dir(prefix) {
		for name, root := range c.modules {
			if root == prefix {
				return path.Join(name, strings.TrimPrefix(folder, prefix))
			}
		}
		if prefix == "." {
			return folder
		}
	}
}

func (c *checkout) label(call *ast.CallExpr, info *types.Info) *callLine {
	ident, receiver := calleeName(call.Fun)
	if ident == nil {
		return nil
	}
	at := c.fset.PositionFor(ident.Pos(), false)
	relative, _ := filepath.Rel(c.root, at.Filename)
	line := &callLine{
		Kind: "call", Path: filepath.ToSlash(relative), Line: at.Line - 1, EndLine: c.line(call.End()-1) + 1,
		Column: at.Column - 1, Name: ident.Name,
	}
	object := info.Uses[ident]
	if object != nil {
		found := c.definitions[object.Pos()]
		if found == nil {
			return nil // a local variable, a builtin or the standard library
		}
		how := "method"
		if receiver == nil {
			how = "same_package"
		} else if name, ok := receiver.(*ast.Ident); ok {
			if _, isPackage := info.Uses[name].(*types.PkgName); isPackage {
				how = "other_package"
			}
		}
		line.How, line.Callee = &how, found
		return line
	}
	// A known type without the method has it from an embedded type of another checkout.
	isKnown := receiver != nil && info.Types[receiver].Type != nil && info.Types[receiver].Type != types.Typ[types.Invalid]
	if receiver == nil || isKnown || c.beginsOutside(receiver, info, 8) {
		return nil
	}
	return line // the checker does not know the receiver's type
}

// The name of a callee and the expression before it, nil for a plain name.
func calleeName(callee ast.Expr) (*ast.Ident, ast.Expr) {
	for {
		switch inner := callee.(type) {
		case *ast.ParenExpr:
			callee = inner.X
		case *ast.IndexExpr:
			callee = inner.X
		case *ast.IndexListExpr:
			callee = inner.X
		case *ast.Ident:
			return inner, nil
		case *ast.SelectorExpr:
			return inner.Sel, inner.X
		default:
			return nil, nil
		}
	}
}

// Whether an expression begins with a package that is not part of the checkout, or with a name whose type or value does.
func (c *checkout) beginsOutside(node ast.Expr, info *types.Info, steps int) bool {
	for {
		switch inner := node.(type) {
		case *ast.SelectorExpr:
			if object := info.Uses[inner.Sel]; object != nil {
				return c.isOutside(inner.Sel, info, steps)
			}
			node = inner.X
		case *ast.CallExpr:
			node = inner.Fun
		case *ast.IndexExpr:
			node = inner.X
		case *ast.ParenExpr:
			node = inner.X
		case *ast.UnaryExpr:
			node = inner.X
		case *ast.StarExpr:
			node = inner.X
		case *ast.TypeAssertExpr:
			if inner.Type == nil {
				return false
			}
			node = inner.Type
		case *ast.ArrayType:
			node = inner.Elt
		case *ast.MapType:
			node = inner.Value
		case *ast.ChanType:
			node = inner.Value
		case *ast.Ellipsis:
			node = inner.Elt
		case *ast.FuncLit:
			if inner.Type.Results == nil {
				return false
			}
			node = inner.Type.Results.List[0].Type
		case *ast.CompositeLit:
			if inner.Type == nil {
				return false
			}
			node = inner.Type
		case *ast.Ident:
			return c.isOutside(inner, info, steps)
		default:
			return false
		}
	}
}

func (c *checkout) isOutside(name *ast.Ident, info *types.Info, steps int) bool {
	object := info.Uses[name]
	importPath, isPackage := c.imports[c.fset.File(name.Pos())][name.Name]
	if used, ok := object.(*types.PkgName); ok {
		importPath, isPackage = used.Imported().Path(), true
	} else if object != nil {
		isPackage = false
	}
	if object == nil || isPackage {
		_, inside := c.folderOf(importPath)
		return isPackage && !inside
	}
	if !object.Pos().IsValid() || !strings.HasPrefix(c.fset.File(object.Pos()).Name(), c.root) {
		return true
	}
	origin := c.origins[object.Pos()]
	return origin != nil && steps > 0 && c.beginsOutside(origin, info, steps-1)
}

func (c *checkout) line(at token.Pos) int {
	return c.fset.PositionFor(at, false).Line - 1
}

// Exported names of functions, methods and types of the standard library.
func standardNames() []string {
	names := map[string]bool{}
	root, err := filepath.EvalSymlinks(filepath.Join(build.Default.GOROOT, "src"))
	if err != nil {
		panic(err)
	}
	_ = filepath.WalkDir(root, func(name string, entry os.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if entry.IsDir() {
			switch entry.Name() {
			case "internal", "testdata", "vendor", "cmd":
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, _ := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if file == nil {
			return nil
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.FuncDecl:
				names[node.Name.Name] = true
				return false
			case *ast.TypeSpec:
				names[node.Name.Name] = true
			case *ast.InterfaceType:
				for _, method := range node.Methods.List {
					for _, ident := range method.Names {
						names[ident.Name] = true
					}
				}
			}
			return true
		})
		return nil
	})
	sorted := []string{}
	for name := range names {
		if ast.IsExported(name) && len(name) > 5 {
			sorted = append(sorted, name)
		}
	}
	sort.Strings(sorted)
	return sorted
}
