package v1alpha1_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// camelCase is what the API server accepts as a reason, less its odder forms.
var camelCase = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// Reasons are a public vocabulary: each has one name, and says what it means.
func TestVocabularyIsWellFormed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "conditions.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	names := map[string]string{}
	for _, declaration := range file.Decls {
		block, ok := declaration.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			t.Errorf("conditions.go declares something else than constants")
			continue
		}
		for _, spec := range block.Specs {
			constant, ok := spec.(*ast.ValueSpec)
			if !ok || len(constant.Names) != 1 || len(constant.Values) != 1 {
				t.Fatalf("a constant has not one name and one value: %v", spec)
			}
			checkTerm(t, names, constant)
		}
	}
	if len(names) < 50 {
		t.Errorf("found %d terms only: is the vocabulary elsewhere?", len(names))
	}
}

// checkTerm checks one constant and enters its value in names.
func checkTerm(t *testing.T, names map[string]string, constant *ast.ValueSpec) {
	t.Helper()
	name := constant.Names[0].Name
	literal, ok := constant.Values[0].(*ast.BasicLit)
	if !ok {
		t.Fatalf("%s is no literal", name)
	}
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if want := strings.TrimPrefix(strings.TrimPrefix(name, "Reason"), "Condition"); value != want || want == name {
		t.Errorf("%s is %q: name and value must be alike", name, value)
	}
	if !camelCase.MatchString(value) {
		t.Errorf("%s is %q, which is not in CamelCase", name, value)
	}
	if other, doubled := names[value]; doubled {
		t.Errorf("%s and %s are both %q", name, other, value)
	}
	names[value] = name
	if doc := constant.Doc.Text(); !strings.HasPrefix(doc, name) || strings.Count(doc, ".") == 0 {
		t.Errorf("%s does not say what it means", name)
	}
}
