package durability_test

import (
	"testing"

	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/topic"
)

func TestSameValue(t *testing.T) {
	tests := map[string]struct {
		kind topic.ConfigType
		a, b string
		want bool
	}{
		"equal":                             {topic.TypeString, "lz4", "lz4", true},
		"other":                             {topic.TypeString, "lz4", "zstd", false},
		"text is compared with case":        {topic.TypeString, "lz4", "LZ4", false},
		"blanks around text":                {topic.TypeString, " lz4", "lz4", true},
		"text that looks like a number":     {topic.TypeString, "1", "1.0", false},
		"a class":                           {topic.TypeClass, "a.B", "a.b", false},
		"unknown type":                      {topic.TypeUnknown, "0.5", "0.50", false},
		"double":                            {topic.TypeDouble, "0.50", "0.5", true},
		"double with exponent":              {topic.TypeDouble, "5e-1", "0.5", true},
		"other double":                      {topic.TypeDouble, "0.5", "0.51", false},
		"no double":                         {topic.TypeDouble, "half", "0.5", false},
		"int with zeros":                    {topic.TypeInt, "02", "2", true},
		"int with sign":                     {topic.TypeInt, "+2", "2", true},
		"int with blanks":                   {topic.TypeInt, " 2 ", "2", true},
		"other int":                         {topic.TypeInt, "1", "2", false},
		"no int":                            {topic.TypeInt, "asd", "2", false},
		"no int on both sides":              {topic.TypeInt, "asd", "asd ", false},
		"short":                             {topic.TypeShort, "-1", "-01", true},
		"unlimited":                         {topic.TypeLong, "-1", "-1", true},
		"the largest long is not rounded":   {topic.TypeLong, "9223372036854775807", "9223372036854775806", false},
		"a long is not read as a double":    {topic.TypeLong, "6.048e+08", "604800000", false},
		"longer than a long":                {topic.TypeLong, "9223372036854775808", "9223372036854775809", false},
		"boolean":                           {topic.TypeBoolean, "TRUE", "true", true},
		"other boolean":                     {topic.TypeBoolean, "true", "false", false},
		"list in another order":             {topic.TypeList, "delete,compact", "compact,delete", true},
		"list with blanks":                  {topic.TypeList, "delete,compact", "compact, delete", true},
		"list with a repetition":            {topic.TypeList, "compact,compact", "compact", true},
		"empty items":                       {topic.TypeList, "compact,,", "compact", true},
		"longer list":                       {topic.TypeList, "compact,delete", "compact", false},
		"empty lists":                       {topic.TypeList, "", " , ", true},
		"list items are compared with case": {topic.TypeList, "Compact", "compact", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for _, pair := range [][2]string{{tt.a, tt.b}, {tt.b, tt.a}} {
				if got := durability.SameValue(tt.kind, pair[0], pair[1]); got != tt.want {
					t.Errorf("%q and %q are the same: %v, want %v", pair[0], pair[1], got, tt.want)
				}
			}
		})
	}
}
