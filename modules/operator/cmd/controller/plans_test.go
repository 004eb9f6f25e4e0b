package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

func TestPlansOfTheClustersRegionAreListedCheapestFirst(t *testing.T) {
	_, url := simulator(t, map[string][]string{secret: {"*"}}, cluster("demo"))
	t.Setenv("LINODE_TOKEN", secret)
	t.Setenv("LINODE_URL", url)
	t.Setenv("CLUSTER_NAME", "demo")
	var out bytes.Buffer
	if err := writePlans(t.Context(), nil, &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if !regexp.MustCompile(`^PLAN +CLASS +VCPU +MEMORY +ALLOCATABLE CPU, MEMORY +GPU +REGION +USD/HOUR +USD/MONTH +AVAILABLE$`).MatchString(lines[0]) ||
		!strings.HasPrefix(lines[1], "g6-nanode-1 ") || !strings.HasSuffix(lines[1], "no: denied by the settings") {
		t.Errorf("the list begins\n%s\n%s", lines[0], lines[1])
	}
	if !regexp.MustCompile(`(?m)^g6-standard-2 +standard +2 +4Gi +2, 3\.7Gi +- +us-ord +0\.036 +24 +yes$`).MatchString(out.String()) ||
		!regexp.MustCompile(`(?m)^g2-gpu-rtx4000a2-s +gpu +8 +32Gi +8, \S+ +2 rtx4000a +us-ord`).MatchString(out.String()) {
		t.Errorf("%s", out.String())
	}
}

func TestPlansOfOtherRegionsNeedNoCluster(t *testing.T) {
	_, url := simulator(t, map[string][]string{secret: {"*"}})
	t.Setenv("LINODE_TOKEN", secret)
	t.Setenv("LINODE_URL", url)
	var out bytes.Buffer
	if err := writePlans(t.Context(), []string{"--regions=us-ord,id-cgk"}, &out); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !regexp.MustCompile(`(?m)^g6-standard-2 .* id-cgk +0\.043 +`).MatchString(text) ||
		!regexp.MustCompile(`(?m)^g6-standard-2 .* us-ord +0\.036 +24 `).MatchString(text) {
		t.Errorf("%s", text)
	}
}

func TestARegionThatThereIsNotIsNamed(t *testing.T) {
	_, url := simulator(t, map[string][]string{secret: {"*"}})
	t.Setenv("LINODE_TOKEN", secret)
	t.Setenv("LINODE_URL", url)
	err := writePlans(t.Context(), []string{"--regions=us-ord,us-odr"}, &bytes.Buffer{})
	if err == nil || err.Error() != `--regions: there is no region "us-odr"; similar: us-ord` {
		t.Error(err)
	}
}

func TestABadArgumentOfPlansIsNamed(t *testing.T) {
	for _, args := range [][]string{{"--nodepol=x"}, {"extra"}} {
		if err := writePlans(t.Context(), args, &bytes.Buffer{}); err == nil || !strings.HasPrefix(err.Error(), "command line: ") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
