package scrub_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/karpenter-linode/karpenter-linode/modules/lkeprobe/internal/scrub"
)

func TestTextsLoseWhatNamesAnAccount(t *testing.T) {
	s := scrub.New([]string{"t0ken"}, []string{"lkeprobe-run=1"})
	pool := s.Bytes("/v4beta/lke/clusters/584692/pools", []byte(`{"id":855492,"label":"billing-db","labels":{"acme.example/team":"blue"},"tags":["acme","lkeprobe-run=1","nodepool=855492"],
		"nodes":[{"id":"855492-1bc1c89c0000","instance_id":94907010}],"new_field":"acme secret","taints":[{"key":"acme","value":"x","effect":"NoSchedule"}]}`))
	text, err := json.Marshal(pool)
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []string{"lkeprobe-run=1", "NoSchedule", "nodepool=1", "new_field"} {
		if !strings.Contains(string(text), kept) {
			t.Errorf("%q is gone from %s", kept, text)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"billing-db is not valid", "label-1 is not valid"},
		{"Tag \"acme\" must be 3-50 characters", "Tag \"tag-1\" must be 3-50 characters"},
		{"pool 855492 has 3 nodes of 65535", "pool 1001 has 3 nodes of 65535"},
		{"mail a.b+c@example.org now", "mail (mail) now"},
		{"Bearer t0ken", "Bearer (secret)"},
		{"from 198.51.100.7/24 and 2001:db8::7", "from (address) and (address)"},
		{"https://x-1.us-ord-1.linodelke.net:443 is down", "(host) is down"},
		{"lke584692-855492-1bc1c89c0000", "lke1004-1001-000000001002"},
		{"seen at 03:04:05", "seen at 03:04:05"},
		{"number 123456789", "number (number)"},
	} {
		got := s.Text(c.text)
		if strings.HasPrefix(c.text, "lke") {
			if strings.Contains(got, "584692") || strings.Contains(got, "1bc1c") || strings.Count(got, "-") != 2 {
				t.Errorf("%q became %q", c.text, got)
			}
			continue
		}
		if got != c.want {
			t.Errorf("%q became %q, want %q", c.text, got, c.want)
		}
	}
	for _, gone := range []string{"855492", "billing", "acme", "blue", "94907010", "1bc1c", "secret"} {
		if strings.Contains(string(text), gone) {
			t.Errorf("%q survived in %s", gone, text)
		}
	}
}

// The same thing has the same pseudonym everywhere, another thing another.
func TestRelationsStayReadable(t *testing.T) {
	s := scrub.New(nil, nil)
	one := fmt.Sprint(s.Body("", map[string]any{"instance_id": json.Number("94907010")}))
	two := fmt.Sprint(s.Body("", map[string]any{"id": json.Number("94907010")}))
	three := fmt.Sprint(s.Body("", map[string]any{"id": json.Number("94907011")}))
	if strings.TrimPrefix(one, "map[instance_id") != strings.TrimPrefix(two, "map[id") || two == three {
		t.Errorf("%s, %s, %s", one, two, three)
	}
	if path := s.Path("/linode/instances/94907010"); path != "/linode/instances/1001" {
		t.Errorf("path %s", path)
	}
	if path := s.Path("/linode/types/g6-standard-1"); path != "/linode/types/g6-standard-1" {
		t.Errorf("path %s", path)
	}
}
