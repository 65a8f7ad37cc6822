// Command conditions writes docs/conditions.md from the comments of api/v1alpha1/conditions.go, so that the public
// vocabulary is explained in one place only.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
)

const (
	source = "api/v1alpha1/conditions.go"
	target = "docs/conditions.md"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.ParseComments)
	if err != nil {
		return fmt.Errorf("read %s: %w", source, err)
	}
	var out strings.Builder
	out.WriteString("# Conditions and reasons\n\nGenerated from `" + source + "` by `make generate`.\n")
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		out.WriteString("\n## " + strings.TrimSuffix(heading(group.Doc), ".") + "\n\n| name | meaning |\n|---|---|\n")
		for _, spec := range group.Specs {
			row(&out, spec.(*ast.ValueSpec))
		}
	}
	return os.WriteFile(target, []byte(out.String()), 0o644)
}

// heading is the first sentence of a group's comment.
func heading(doc *ast.CommentGroup) string {
	text := strings.Join(strings.Fields(doc.Text()), " ")
	if i := strings.Index(text, ". "); i > 0 {
		return text[:i]
	}
	return text
}

func row(out *strings.Builder, spec *ast.ValueSpec) {
	for i, name := range spec.Names {
		literal, ok := spec.Values[i].(*ast.BasicLit)
		if !ok {
			continue
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			continue
		}
		text := strings.Join(strings.Fields(spec.Doc.Text()), " ")
		text = strings.TrimSpace(strings.TrimLeft(strings.TrimPrefix(text, name.Name), ": "))
		fmt.Fprintf(out, "| `%s` | %s |\n", value, strings.ReplaceAll(text, "|", "\\|"))
	}
}
