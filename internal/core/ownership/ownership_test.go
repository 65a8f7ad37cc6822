package ownership_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"durabletopic.io/operator/internal/core/ownership"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func claim(name, uid string, age time.Duration) ownership.Claim {
	return ownership.Claim{Namespace: "shop", Name: name, UID: uid, Created: noon.Add(-age), Eligible: true}
}

func ineligible(c ownership.Claim) ownership.Claim {
	c.Eligible = false
	return c
}

func TestOwner(t *testing.T) {
	tests := map[string]struct {
		claims []ownership.Claim
		want   string // name; empty: nobody
	}{
		"nobody":                      {nil, ""},
		"the only one":                {[]ownership.Claim{claim("a", "1", 0)}, "a"},
		"the oldest":                  {[]ownership.Claim{claim("a", "1", 0), claim("b", "9", time.Second)}, "b"},
		"of one second the least UID": {[]ownership.Claim{claim("a", "2", 0), claim("b", "1", 0), claim("c", "3", 0)}, "b"},
		"never one that cannot act":   {[]ownership.Claim{ineligible(claim("a", "1", time.Hour)), claim("b", "2", 0)}, "b"},
		"nobody can act":              {[]ownership.Claim{ineligible(claim("a", "1", 0))}, ""},
		"whatever the time zone": {[]ownership.Claim{
			{Name: "a", UID: "1", Created: noon.In(time.FixedZone("", 7200)), Eligible: true},
			{Name: "b", UID: "2", Created: noon.Add(-time.Second), Eligible: true}}, "b"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(tt.claims)
			got := ""
			if owner := ownership.Owner(tt.claims); owner != nil {
				got = owner.Name
			}
			if got != tt.want {
				t.Errorf("the owner is %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff(before, tt.claims); diff != "" {
				t.Errorf("the claims were changed:\n%s", diff)
			}
		})
	}
}

// TestOwnerIsOneForAll: any order of the claims gives the same owner, no eligible claim is older, and when the owner goes
// the next one is the owner of the rest.
func TestOwnerIsOneForAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		claims := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) ownership.Claim {
			c := claim("x", rapid.StringMatching("[a-d]{2}").Draw(t, "uid"), time.Duration(rapid.IntRange(0, 3).Draw(t, "age"))*time.Second)
			c.Eligible = rapid.Bool().Draw(t, "eligible")
			return c
		}), 0, 6, func(c ownership.Claim) string { return c.UID }).Draw(t, "claims")
		owner := ownership.Owner(claims)
		other := ownership.Owner(rapid.Permutation(claims).Draw(t, "order"))
		if diff := cmp.Diff(owner, other); diff != "" {
			t.Fatalf("another order gives another owner:\n%s", diff)
		}
		for _, c := range claims {
			if c.Eligible && (owner == nil || c.Created.Before(owner.Created) || c.Created.Equal(owner.Created) && c.UID < owner.UID) {
				t.Fatalf("%+v comes before the owner %+v", c, owner)
			}
		}
	})
}

func TestString(t *testing.T) {
	if got := claim("orders", "1", 0).String(); got != "shop/orders" {
		t.Errorf("the claim reads %q", got)
	}
	if got := (ownership.Claim{Name: "default"}).String(); got != "default" {
		t.Errorf("the claim of a cluster-scoped object reads %q", got)
	}
}
